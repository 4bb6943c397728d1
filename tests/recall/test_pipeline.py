import random
import threading
from pathlib import Path

import msgpack
import numpy as np
import pytest

from brain_daemon._ext.distance import set_simd_tier, simd_tier, simd_tiers
from brain_daemon.index.snapshot import Snapshot
from brain_daemon.recall.duplicates import MAX_SOURCES
from brain_daemon.store import connection
from brain_daemon.timestamps import now_us
from tests.index.stores import ALICE, BOB, chunk, document
from tests.recall.memories import Memories

NOWHERE = np.zeros(256, np.float32)
BOTH = (ALICE, BOB)


def test_an_empty_store_says_so(memories: Memories) -> None:
    answer = memories.recall("anything")
    assert answer["decision"] == "empty_store"
    assert (answer["hits"], answer["visible"]) == ([], 0)
    assert "nothing is stored" in answer["reason"]
    skipped = {"status": "skipped", "reason": "no chunk is visible"}
    assert answer["legs"] == {"vector": skipped, "lexical": skipped, "graph": skipped}


def test_others_rows_are_not_told_of(memories: Memories) -> None:
    memories.add("text")
    assert memories.recall("text", BOB) | {"took_us": 0} == Memories.recall(
        memories, "text", BOB, include_decayed=True
    ) | {"took_us": 0}
    assert memories.recall("text", BOB)["decision"] == "empty_store"


def test_filters_that_leave_nothing_say_so(memories: Memories) -> None:
    memories.add("text")
    memories.add("old text", expires_at_us=now_us() - 1)
    answer = memories.recall("text", domain="elsewhere")
    assert answer["decision"] == "filtered_out"
    assert "none of the 2 chunks" in answer["reason"]


def test_nothing_found_says_so(memories: Memories) -> None:
    memories.add("text", embedding=NOWHERE)
    answer = memories.recall("unrelated")
    assert (answer["decision"], answer["hits"], answer["visible"]) == ("no_match", [], 1)
    assert answer["reason"].startswith("none of the 1 visible chunks")
    assert set(answer["legs"]) == {"vector", "lexical", "graph"}


def test_a_hit_carries_its_evidence(memories: Memories) -> None:
    wanted = memories.add(
        "Ana moved to Lisbon in May.\nShe likes it.",
        uri="notes/ana.md",
        title="Ana",
        names=["Ana", "Lisbon"],
        domain="people",
        node_kind="fact",
        lawful_basis="consent",
        region="EU",
        pii=True,
        source="manual",
        expires_at_us=4_000_000_000_000_000,
    )
    memories.add("The weather is fine.", embedding=NOWHERE)
    answer = memories.recall("When did Ana move to Lisbon?")
    assert answer["decision"] == "answered"
    (hit,) = answer["hits"]
    assert hit["id"] == wanted
    assert hit["text"] == hit["snippet"] == "Ana moved to Lisbon in May.\nShe likes it."
    assert [hit["snippet"][a:b] for a, b in hit["highlights"]] == ["Ana", "moved", "Lisbon"]
    expected = {
        "uri": "notes/ana.md",
        "title": "Ana",
        "revision": 1,
        "heading_path": [],
        "lines": [1, 2],
        "untrusted": True,
        "source": "manual",
        "node_kind": "fact",
        "lawful_basis": "consent",
        "region": "EU",
        "pii": True,
        "domain": "people",
        "owner": "alice",
        "access_scope": "private",
        "expires_at": "2096-10-02T07:06:40Z",
        "writer": {"uid": 1000, "pid": 1, "name": "alice"},
    }
    assert {key: hit[key] for key in expected} == expected
    provenance = hit["provenance"]
    assert provenance["lexical"]["rank"] == 1
    assert provenance["lexical"]["terms"] == ["ana", "move", "lisbon"]
    assert provenance["lexical"]["bm25"] > 0
    assert 0 < provenance["vector"]["cosine"] <= 1
    assert provenance["graph"]["path"][0] == "query"
    assert provenance["graph"]["path"][-1] == f"chunk {wanted}"
    ranks = [provenance[leg]["rank"] for leg in ("vector", "lexical", "graph")]
    assert hit["score"] == provenance["fused"] == sum(1 / (60 + rank) for rank in ranks)
    assert answer["legs"]["lexical"]["terms"] == ["ana", "move", "lisbon"]
    assert answer["legs"]["graph"]["entities"] == ["Ana", "Lisbon"]
    assert "provenance" not in memories.recall("Ana", provenance=False)["hits"][0]
    msgpack.packb(answer)


def test_a_leg_that_did_not_list_a_hit_is_nil(memories: Memories) -> None:
    memories.add("boats and ships", embedding=NOWHERE)
    (hit,) = memories.recall("boats", graph=False)["hits"]
    assert hit["provenance"]["vector"] is None
    assert hit["provenance"]["graph"] is None
    assert hit["provenance"]["lexical"]["rank"] == 1


def test_k_cuts_after_fusion(memories: Memories) -> None:
    ids = [memories.add(f"common words number {i}") for i in range(30)]
    assert len(memories.found("common words", k=7)) == 7
    assert set(memories.found("common words", k=100)) == set(ids)
    assert memories.found("common words", k=7) == memories.found("common words", k=30)[:7]


def test_each_leg_decides_a_query_of_its_own(memories: Memories) -> None:
    """Switch a leg off and the hit that only it can find is gone."""
    by_meaning = memories.add("the physician examined her patient")
    by_word = memories.add("qwertzuiop", embedding=NOWHERE)
    memories.add("Ana joined Initech", names=["Ana", "Initech"], embedding=NOWHERE)
    by_link = memories.add("its office", names=["Initech"], embedding=NOWHERE)
    assert by_meaning in memories.found("doctor", graph=False)
    assert by_word in memories.found("qwertzuiop")
    assert by_link in memories.found("Ana")
    assert by_link not in memories.found("Ana", graph=False)
    for leg, q, hit in (("vector", "doctor", by_meaning), ("lexical", "qwertzuiop", by_word)):
        found = next(h for h in memories.recall(q)["hits"] if h["id"] == hit)
        others = {"vector", "lexical"} - {leg}
        assert found["provenance"][leg] is not None
        assert all(found["provenance"][other] is None for other in others)


def test_an_exact_word_ranks_first_among_vague_neighbours(memories: Memories) -> None:
    topics = ["printers", "scanners", "displays", "keyboards", "cables", "routers"]
    for i in range(150):
        topic = topics[i % len(topics)]
        memories.add(f"Please check the status of the {topic} in room {i}, someone asked about it")
    wanted = memories.add("ZX-81-QQ: left on the shelf")
    for q in ("ZX-81-QQ", "what is the status of ZX-81-QQ", "did someone check ZX-81-QQ please?"):
        assert memories.found(q)[0] == wanted, q


def test_nonsense_lists_no_vector_candidate_at_or_below_zero(memories: Memories) -> None:
    for i in range(20):
        memories.add(f"ordinary text number {i}")
    for hit in memories.recall("PHRASE_zzqx_QQQQ", k=100)["hits"]:
        vector = hit["provenance"]["vector"]
        assert vector is None or vector["cosine"] > 0


def test_an_acknowledged_memory_is_there_and_a_forgotten_one_gone(memories: Memories) -> None:
    first = memories.add("the kettle is blue", uri="kettle")
    assert memories.found("kettle") == [first]
    second = memories.add("the kettle is red", uri="kettle")
    assert memories.found("kettle blue red") == [second]
    memories.forget(second)
    assert memories.found("kettle") == []
    third = memories.add("the kettle is red", uri="kettle")
    assert memories.found("kettle") == [third]


def test_a_hit_that_left_after_the_snapshot_is_dropped(memories: Memories) -> None:
    kept, gone = memories.add("blue kettle"), memories.add("red kettle")
    old = memories.snapshot
    memories.forget(gone)
    memories.snapshot = old
    assert memories.found("kettle") == [kept]


def starved(memories: Memories) -> tuple[list[int], list[int]]:
    """Three own chunks; 5,000 foreign ones with the same words, vectors and entity."""
    embedding = memories.model.embed("the shared treasure map")
    text = "the shared treasure map"
    foreign = document(
        *(chunk(text, names=["Treasure"], embedding=embedding, dim=256) for _ in range(5000)),
        owner="bob",
        uri="hoard",
    )
    theirs = memories.put(foreign)[0]
    own = [memories.add(f"{text} and more {i}", names=["Treasure"]) for i in range(3)]
    return own, theirs


def test_no_leg_starves_or_leaks(memories: Memories) -> None:
    own, theirs = starved(memories)
    answer = memories.recall("treasure map", k=10)
    assert [hit["id"] for hit in answer["hits"]] == own
    assert answer["visible"] == 3
    for hit in answer["hits"]:
        assert all(hit["provenance"][leg] for leg in ("vector", "lexical", "graph"))
    for leg in ("vector", "lexical", "graph"):
        assert answer["legs"][leg]["candidates"] == 3
    (hit,) = memories.recall("treasure map", BOB, k=100)["hits"]
    assert (len(hit["sources"]), hit["n_sources"]) == (MAX_SOURCES, 5000)
    assert set(memories.found("treasure map", BOB, k=100)) <= set(theirs)


RARE: list[tuple[dict[str, object], dict[str, object]]] = [
    ({"domain": "small"}, {"domain": "sm*"}),
    ({"source": "manual"}, {"source": "manual"}),
    ({"source": "structured"}, {"sources": ["vault", "structured"]}),
    ({"node_kind": "fact"}, {"node_kind": "fact"}),
    ({"created_at_us": 1_700_000_000_000_000}, {"until": "2024-01-01"}),
    ({"created_at_us": 1_900_000_000_000_000}, {"since": "2030-01-01"}),
]


@pytest.mark.parametrize("exact_rows", [25_000, 0])
def test_no_filter_starves(memories: Memories, exact_rows: int) -> None:
    """Three of each kind beside 3,000 others that are as good: asked for, the three are given."""
    memories.settings["recall_exact_rows"] = exact_rows
    text = "the shared treasure map"
    embedding = memories.model.embed(text)
    others = [chunk(text, names=["Treasure"], embedding=embedding, dim=256) for _ in range(3000)]
    memories.put(document(*others, uri="hoard"))
    for tags, asked in RARE:
        few = [memories.add(f"{text} {i}", names=["Treasure"], **tags) for i in range(3)]
        answer = memories.recall("treasure map", k=3, **asked)
        assert {hit["id"] for hit in answer["hits"]} == set(few)
        for leg in ("vector", "lexical", "graph"):
            assert answer["legs"][leg]["candidates"] == 3, (leg, asked)
        memories.forget(*few)


@pytest.mark.parametrize("leg", ["vector", "lexical", "graph"])
def test_without_the_predicate_in_a_leg_foreign_rows_would_leak(
    memories: Memories, leg: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ablation that proves the test above can fail."""
    from brain_daemon.recall import graph, lexical, pipeline, vector

    module = {"vector": vector, "lexical": lexical, "graph": graph}[leg]
    search = module.search

    def blind(*args: object, **options: object) -> object:
        everything = np.ones(memories.snapshot.n_rows, np.uint8)
        swapped = [
            everything if isinstance(a, np.ndarray) and a.dtype == np.uint8 else a for a in args
        ]
        return search(*swapped, **options)

    _, theirs = starved(memories)
    monkeypatch.setattr(getattr(pipeline, leg), "search", blind)
    monkeypatch.setattr(Snapshot, "seen_by", lambda snapshot, *_: snapshot)
    assert set(memories.found("treasure map", k=100)) & set(theirs)


@pytest.mark.parametrize("exact_rows", [25_000, 0])
def test_the_same_bytes_on_every_tier(memories: Memories, exact_rows: int) -> None:
    memories.settings["recall_exact_rows"] = exact_rows
    for i in range(300):
        memories.add(
            f"note {i} about {'boats' if i % 3 else 'trains'} and {i % 7}", names=[f"E{i % 11}"]
        )
    queries = ["boats and E3", "trains number 5", "E1", "a harbour"]
    before = simd_tier()
    packed = set()
    try:
        for tier in simd_tiers():
            set_simd_tier(tier)
            answers = [memories.recall(q, k=20) | {"took_us": 0} for q in queries]
            packed.add(msgpack.packb(answers))
    finally:
        set_simd_tier(before)
    memories.snapshot = memories.loaded()
    packed.add(msgpack.packb([memories.recall(q, k=20) | {"took_us": 0} for q in queries]))
    assert len(packed) == 1


@pytest.mark.parametrize("seed", range(3))
def test_the_same_bytes_whatever_the_history(memories: Memories, seed: int) -> None:
    """An index that followed every commit answers like one that was loaded, whoever asks."""
    rng = random.Random(seed)
    words = [
        "kettle",
        "harbour",
        "Ana",
        "Lisbon",
        "boat",
        "DEC-0054",
        "fooBar",
        "成语",
        "🎉",
        "red",
        "green",
        "May",
    ]
    names = ["Ana", "Lisbon", "Hub", "fooBar", "Initech"]
    memories.add("all of them", names=names)
    ids: list[int] = []
    for step in range(120):
        if rng.random() < 0.25 and ids:
            memories.forget(ids.pop(rng.randrange(len(ids))))
            continue
        made = memories.add(
            " ".join(rng.choices(words, k=rng.randint(1, 12))) + f" {step}",
            names=rng.sample(names, rng.randint(0, 4)),
            relations=[(*rng.sample(names, 1), rng.choice(["r", "tagged_with"]), "Hub")],
            thread=rng.choice([None, "t"]),
            owner=rng.choice(["alice", "alice", "bob"]),
            expires_at_us=rng.choice([None, None, now_us() - 1, now_us() + 10**12]),
        )
        ids.append(made)
    asked = [
        {"q": q, "k": 50, "abstain": abstain, "include_decayed": decayed}
        for q in ("kettle", "Ana in Lisbon", "fooBar -red", "成语", "🎉 Hub", '"red green"', "who?")
        for abstain in (True, False)
        for decayed in (True, False)
    ]

    def answers() -> bytes:
        return msgpack.packb(
            [memories.recall(principal=who, **a) | {"took_us": 0} for a in asked for who in BOTH]
        )

    followed = answers()
    memories.snapshot = memories.loaded()
    assert answers() == followed


def test_decayed_memories_need_asking_for(memories: Memories) -> None:
    old = memories.add("the old password hint", expires_at_us=now_us() - 1)
    new = memories.add("the new password hint", expires_at_us=now_us() + 10**12)
    assert memories.found("password hint") == [new]
    assert set(memories.found("password hint", include_decayed=True)) == {old, new}


def test_filters_reach_every_leg(memories: Memories) -> None:
    a = memories.add("red apple", domain="fruit", source="manual", names=["Apple"])
    b = memories.add("red apple pie", domain="fruit.baked", source="vault", names=["Apple"])
    c = memories.add("red apple juice", domain="drink", node_kind="fact", names=["Apple"])
    assert memories.found("red apple", domain="fruit") == [a]
    assert memories.found("red apple", domain="fruit.*") == [b]
    assert set(memories.found("red apple", domain="fruit*")) == {a, b}
    assert memories.found("red apple", node_kind="fact") == [c]
    assert memories.found("red apple", source="vault") == [b]
    assert set(memories.found("red apple", sources=["vault", "manual"])) == {a, b}
    assert memories.found("red apple", ALICE, since="2100-01-01") == []


def test_readers_keep_answering_while_the_writer_goes_on(
    memories: Memories, tmp_path: Path
) -> None:
    """Each answer is that of one snapshot: of the kettles, all that it holds and no other."""
    first = memories.add("kettle number 0", embedding=NOWHERE)
    failures: list[BaseException] = []
    stop = threading.Event()

    def read() -> None:
        reader = connection.open_reader(tmp_path / "brain.db")
        try:
            while not stop.is_set():
                snapshot = memories.snapshot
                answer = memories.recall("kettle", k=100, snapshot=snapshot, conn=reader)
                n_kettles = min(snapshot.n_alive, 100)
                assert answer["visible"] == snapshot.n_alive
                assert answer["legs"]["lexical"]["candidates"] == n_kettles
                assert first in [hit["id"] for hit in answer["hits"]]
        except BaseException as error:
            failures.append(error)
        finally:
            reader.close()

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(1, 60):
        memories.add(f"kettle number {i} of {'x' * i}", names=[f"Kettle {i}"], embedding=NOWHERE)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures, failures
