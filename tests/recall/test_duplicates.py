"""Copies take one place; what differs in a word or a tag keeps its own."""

from collections.abc import Sequence
from typing import Any

import pytest

from brain_daemon.index.snapshot import Change
from brain_daemon.model import PreparedChunk
from brain_daemon.recall.duplicates import MAX_SOURCES, group
from brain_daemon.store import documents, quarantine
from tests.index.stores import BOB, NOW_US, WRITER, chunk, document
from tests.recall.memories import Memories

TEXT = "The spare key hangs behind the blue door"


def answer(store: Memories, q: str = "spare key door", **params: Any) -> list[list[int]]:
    """The ids of the sources of each hit."""
    hits = store.recall(q, abstain=False, **params)["hits"]
    assert all(hit["sources"][0]["id"] == hit["id"] for hit in hits)
    return [[source["id"] for source in hit["sources"]] for hit in hits]


def test_copies_are_one_hit_with_all_its_sources(memories: Memories) -> None:
    copies = [memories.add(TEXT, uri=f"file:///{i}.md", title=f"T{i}") for i in range(3)]
    other = memories.add("The spare key hangs behind the green door", uri="file:///g.md")
    found = answer(memories)
    assert sorted(map(sorted, found)) == sorted([copies, [other]])
    assert {s["uri"] for s in memories.recall(TEXT, abstain=False)["hits"][0]["sources"]} == {
        f"file:///{i}.md" for i in range(3)
    }


def test_copies_leave_their_places_to_others(memories: Memories) -> None:
    for i in range(4):
        memories.add(TEXT, uri=f"c{i}", node_kind="note")
    others = [memories.add(f"A spare key, number {i}", uri=f"o{i}") for i in range(3)]
    found = answer(memories, k=3)
    assert len(found) == 3
    assert {id_ for ids in found for id_ in ids} & set(others)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_many_copies_do_not_crowd_others_out(memories: Memories, k: int) -> None:
    copies = [memories.add(TEXT, uri=f"c{i}") for i in range(40)]
    others = [memories.add(f"A key, number {i}", uri=f"o{i}") for i in range(6)]
    first, *following = answer(memories, k=k)
    assert len(following) == k - 1
    assert {id_ for ids in following for id_ in ids} <= set(others)
    assert k == 1 or sorted(first) == copies


@pytest.fixture
def shallow(memories: Memories) -> Memories:
    """Legs list ten rows each."""
    memories.settings["recall_leg_depth"] = 10
    return memories


def only(store: Memories, **params: Any) -> tuple[list[int], int]:
    """The sources of the one hit, and their number."""
    (hit,) = store.recall(TEXT, abstain=False, **params)["hits"]
    return [source["id"] for source in hit["sources"]], hit["n_sources"]


def test_copies_that_no_leg_lists_are_sources_too(shallow: Memories) -> None:
    copies = [shallow.add(TEXT, uri=f"c{i}") for i in range(40)]
    for k in (1, 5):
        (first, *others), n = only(shallow, k=k)
        assert (sorted([first, *others]), n) == (copies, 40)
        assert others == sorted(others)


def test_of_many_sources_the_first_are_listed_and_all_counted(shallow: Memories) -> None:
    copies = [shallow.add(TEXT, uri=f"c{i}") for i in range(MAX_SOURCES + 7)]
    sources, n = only(shallow, k=1)
    assert sorted(sources) == copies[:MAX_SOURCES]
    assert n == MAX_SOURCES + 7


def test_full_lists_of_copies_do_not_hide_what_stands_behind_them(shallow: Memories) -> None:
    for text in (TEXT, f"{TEXT} again"):
        shallow.put(*(document(chunk_of(shallow, text), uri=f"{text}{i}") for i in range(30)))
    others = [shallow.add(f"A key, number {i}", uri=f"o{i}") for i in range(3)]
    answered = shallow.recall("spare key door", abstain=False, trace=True)
    hits = answered["hits"]
    assert [hit["n_sources"] for hit in hits] == [30, 30, 1, 1, 1]
    assert {hit["id"] for hit in hits[2:]} == set(others)
    for hit in hits:  # the ranks that it tells of are those of the lists that it tells of
        rank, score = (hit["provenance"]["lexical"][name] for name in ("rank", "bm25"))
        assert answered["ranked"]["lexical"][rank - 1] == (hit["id"], score)


def chunk_of(store: Memories, text: str) -> PreparedChunk:
    return chunk(text, embedding=store.model.embed(text), dim=store.dim)


def test_hidden_copies_change_no_byte_of_an_answer(shallow: Memories) -> None:
    """Neither whether there are any, nor how many."""
    alone = shallow.add("Something else about a door", uri="other")
    shown = [shallow.add(TEXT, uri=f"mine {i}") for i in range(3)]

    def asked(**params: Any) -> list[dict[str, Any]]:
        return [
            {k: v for k, v in shallow.recall(TEXT, **params, k=k).items() if k != "took_us"}
            for k in (1, 5)
        ]

    before = asked(), asked(source="manual")
    for i in range(20):
        shallow.add(TEXT, uri=f"theirs {i}", owner="bob")
        shallow.add("Something else about a door", uri=f"their other {i}", owner="bob")
    assert (asked(), asked(source="manual")) == before
    assert {hit["n_sources"] for hit in before[0][1]["hits"]} == {3, 1}
    sources = {source["id"] for hit in before[0][1]["hits"] for source in hit["sources"]}
    assert sources == {alone, *shown}


def test_sources_pass_the_filters_of_the_request(shallow: Memories) -> None:
    kept = [shallow.add(TEXT, uri=f"m{i}", source="manual") for i in range(2)]
    vault = [shallow.add(TEXT, uri=f"v{i}", source="vault") for i in range(12)]
    assert (sorted(only(shallow, source="manual")[0]), only(shallow)[1]) == (kept, 14)
    titled = shallow.add(TEXT, uri="t", title="Cellar")
    assert titled in only(shallow)[0]
    sources, n = only(shallow, lex={"exclude": ["cellar"]})
    assert (sorted(sources), n) == ([*kept, *vault], 14)


def left(store: Memories, gone: Sequence[int], kept: Sequence[int]) -> None:
    sources, n = only(store, k=1)
    assert (sorted(sources), n) == (list(kept), len(kept))
    assert not set(gone) & set(sources)
    store.snapshot = store.loaded()
    assert (sorted(only(store, k=1)[0]), only(store, k=1)[1]) == (list(kept), len(kept))


def test_what_has_left_is_no_source_any_more(shallow: Memories) -> None:
    ids = [shallow.add(TEXT, uri=f"c{i}") for i in range(20)]
    shallow.forget(*ids[:3])
    left(shallow, ids[:3], ids[3:])
    shallow.add("Revised: no key here at all", uri="c3")
    left(shallow, ids[:4], ids[4:])
    with shallow.conn:
        for id_ in ids[4:6]:
            quarantine.hold(shallow.conn, id_, "test", WRITER, NOW_US)
    shallow.advance(Change.hold(ids[4:6]))
    left(shallow, ids[:6], ids[6:])
    with shallow.conn:
        expired = documents.set_expiry(shallow.conn, 7, 1)
    assert expired == ids[6:7]
    shallow.advance(Change.expiring(expired, 1))
    left(shallow, ids[:7], ids[7:])
    assert only(shallow, k=1, include_decayed=True)[1] == len(ids) - 6


def test_a_common_hash_alone_makes_no_copy(memories: Memories) -> None:
    one, same = (memories.add(TEXT, uri=uri) for uri in ("a", "b"))
    memories.add("Words about something else altogether", uri="c")
    memories.conn.execute("UPDATE chunk SET copy_hash = 5")
    hits = memories.recall(TEXT, k=1)["hits"]
    assert sorted(source["id"] for source in hits[0]["sources"]) == [one, same]
    assert hits[0]["n_sources"] == 2


def test_a_source_tells_what_it_is_called(memories: Memories) -> None:
    for title in ("Berlin", "Paris"):
        memories.add("Opens at nine", uri=title, title=title)
    (hit,) = memories.recall("opens at nine", abstain=False)["hits"]
    assert {(s["title"], *s["heading_path"]) for s in hit["sources"]} == {("Berlin",), ("Paris",)}


@pytest.mark.parametrize(
    "tag",
    [
        {"pii": True},
        {"domain": "elsewhere"},
        {"access_scope": "team"},
        {"node_kind": "note"},
        {"lawful_basis": "consent"},
        {"region": "EU"},
    ],
    ids=lambda tag: next(iter(tag)),
)
def test_tags_keep_copies_apart(memories: Memories, tag: dict[str, Any]) -> None:
    plain = memories.add(TEXT, uri="a")
    tagged = memories.add(TEXT, uri="b", **tag)
    assert sorted(answer(memories)) == [[plain], [tagged]]


def test_a_copy_that_one_may_not_see_is_no_source(memories: Memories) -> None:
    mine = memories.add(TEXT, uri="a")
    theirs = memories.add(TEXT, uri="a", owner="bob")
    assert answer(memories) == [[mine]]
    hits = memories.recall("spare key", BOB, abstain=False)["hits"]
    assert [source["id"] for source in hits[0]["sources"]] == [theirs]


def test_every_copy_is_forgotten_alone(memories: Memories) -> None:
    first = memories.add(TEXT, uri="a")
    second = memories.add(TEXT, uri="b")
    memories.forget(first)
    assert answer(memories) == [[second]]


def test_nothing_is_nothing() -> None:
    assert group([None]) == []
