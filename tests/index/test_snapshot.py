"""A snapshot that followed every commit mirrors what a fresh load of the store gives."""

import random
import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from brain_daemon._ext.bm25 import document_frequencies, term_frequencies, topk_bm25
from brain_daemon._ext.ppr import neighbors
from brain_daemon.index.snapshot import Change, Snapshot
from brain_daemon.index.visibility import EVERYTHING
from brain_daemon.model import PreparedDocument
from brain_daemon.store import documents, quarantine
from tests.index.stores import ALICE, BOB, NOW_US, WRITER, MirroredStore, chunk, document

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
NAMES = ["Ana", "Lisbon", "New York", "foo_bar.baz", "Straße", "成语"]


def random_document(rng: random.Random, uri: str | None) -> PreparedDocument:
    chunks = []
    for _ in range(rng.randint(1, 3)):
        subject, object_ = rng.sample(NAMES, 2)
        made = chunk(
            " ".join(rng.choices(WORDS, k=rng.randint(1, 30))),
            names=rng.sample(NAMES, rng.randint(0, 3)),
            relations=[(subject, rng.choice(["knows", "alias_of"]), object_)],
        )
        chunks.append(made)
    thread = rng.choice([None, "talk"])
    return document(*chunks, uri=uri, title=f"t{rng.random()}", thread=thread)


def described(snapshot: Snapshot) -> dict[str, object]:
    """All that recall can tell of a snapshot, in terms of ids and names."""
    rows = snapshot.rows
    alive = np.flatnonzero(rows.alive).astype(np.int32)
    ids = rows.chunk_id[alive].tolist()
    terms = sorted(snapshot.vocabulary.term(i) for i in range(len(snapshot.vocabulary)))
    term_ids = snapshot.vocabulary.lookup(b" ".join(terms)) if terms else np.empty(0, np.int32)
    frequencies = document_frequencies(snapshot.postings, term_ids, rows.alive)
    present = frequencies > 0
    return {
        "ids": ids,
        "created": rows.created_at_us[alive].tolist(),
        "lengths": rows.length[alive].tolist(),
        "n_alive": rows.n_alive,
        "average_length": rows.average_length,
        "matrix": snapshot.vectors.matrix[alive].tolist(),
        "bits": snapshot.vectors.bits[alive].tolist(),
        "scales": snapshot.vectors.scales[alive].tolist(),
        "terms": [t for t, here in zip(terms, present.tolist(), strict=True) if here],
        "frequencies": frequencies[present].tolist(),
        "tfs": term_frequencies(snapshot.postings, term_ids[present], alive).tolist(),
        "graph": graph_of(snapshot),
    }


def graph_of(snapshot: Snapshot) -> dict[str, object]:
    graph, rows = snapshot.graph, snapshot.rows

    def name(node: int) -> str:
        return graph.key(node // 2) if node % 2 else f"chunk {rows.chunk_id[node // 2]}"

    nodes = [2 * row for row in np.flatnonzero(rows.alive).tolist()]
    nodes += [2 * index + 1 for index in range(len(graph.entity_id))]
    edges = {  # in their order, which decides between paths and in which floats are summed
        name(node): [
            (name(target), weight, int(rows.chunk_id[row]))
            for target, weight, row in zip(
                *(part.tolist() for part in neighbors(graph.graph, node, rows.alive)), strict=True
            )
        ]
        for node in nodes
    }
    edges = {node: out for node, out in edges.items() if out}
    named = {graph.key(i): (d, graph.factors[2 * i + 1]) for i, d in enumerate(graph.degree) if d}
    return {"edges": edges, "degrees": named}


def test_an_empty_store(store: MirroredStore) -> None:
    snapshot = store.snapshot
    assert (snapshot.n_rows, snapshot.n_alive, snapshot.rows.average_length) == (0, 0, 0.0)
    assert snapshot.visible(ALICE, EVERYTHING, NOW_US).n_visible == 0
    assert snapshot.sees([1, 2], ALICE, EVERYTHING, NOW_US) == [False, False]


@pytest.mark.parametrize("seed", range(4))
def test_following_commits_equals_loading_anew(store: MirroredStore, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        action = rng.random()
        alive = store.ids(np.flatnonzero(store.snapshot.rows.alive))
        if action < 0.3 and alive:
            store.forget(*rng.sample(alive, min(len(alive), 4)))
        else:
            uris = [rng.choice([None, *"abcd"]) for _ in range(rng.randint(1, 4))]
            store.put(*(random_document(rng, uri) for uri in uris))
        assert described(store.snapshot) == described(store.loaded())
    assert store.snapshot.generation == 25


def test_a_revision_within_one_batch(store: MirroredStore) -> None:
    first, second = store.put(
        document(chunk("alpha", names=["Ana"]), uri="u"),
        document(chunk("beta", names=["Ana"]), uri="u"),
    )
    assert store.snapshot.rows.find([*first, *second]).tolist() == [-1, 1]
    assert described(store.snapshot) == described(store.loaded())


def test_an_entity_that_left_and_came_back(store: MirroredStore) -> None:
    gone = store.add("alpha", names=["Ana"])
    store.forget(gone)
    store.add("beta", names=["ana"])
    assert described(store.snapshot) == described(store.loaded())
    assert len(store.snapshot.graph.keys) == 1


def test_older_snapshots_stay_as_they_were(store: MirroredStore) -> None:
    kept = []
    for text in ("alpha beta", "beta gamma", "alpha gamma"):
        store.add(text, names=["Ana"])
        kept.append((store.snapshot, described(store.snapshot)))
    store.forget(store.ids([0])[0])
    for snapshot, description in kept:
        terms = [snapshot.vocabulary.lookup(term)[0] >= 0 for term in (b"alpha", b"beta", b"gamma")]
        assert all(terms)
        assert described(snapshot) == description


def test_stale_postings_and_edges_are_compacted(store: MirroredStore) -> None:
    ids = [store.add(f"alpha word{i}", names=["Ana"]) for i in range(20)]
    before = store.snapshot.postings.n_postings
    store.forget(*ids[:4])
    assert store.snapshot.n_stale == 4
    assert store.snapshot.postings.n_postings == before
    store.forget(*ids[4:6])
    assert store.snapshot.n_stale == 0
    assert store.snapshot.postings.n_postings == before - 12
    assert store.snapshot.graph.graph.n_edges == 2 * 14
    assert described(store.snapshot) == described(store.loaded())


def test_mostly_dead_rows_ask_for_a_rebuild(
    store: MirroredStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("brain_daemon.index.snapshot._REBUILD_ROWS", 3)
    ids = [store.add(f"alpha {i}") for i in range(8)]
    store.forget(*ids[:4])
    assert not store.snapshot.needs_rebuild
    store.forget(ids[4])
    assert store.snapshot.needs_rebuild
    assert not store.loaded().needs_rebuild


def test_sees_follows_visibility(store: MirroredStore) -> None:
    own, gone = store.add("alpha"), store.add("beta")
    foreign = store.add("gamma", owner="bob")
    store.forget(gone)
    asked = [foreign, own, gone, 999]
    assert store.snapshot.sees(asked, ALICE, EVERYTHING, NOW_US) == [False, True, False, False]
    assert store.snapshot.sees(asked, BOB, EVERYTHING, NOW_US) == [True, False, False, False]


def test_unknown_entities_are_refused(store: MirroredStore) -> None:
    change = Change(
        document=document(chunk("alpha")), chunk_ids=[1], previous_ids=[None], entity_ids=[[7]]
    )
    with pytest.raises(ValueError, match="never added"):
        store.snapshot.advance([change])


def test_chunk_ids_must_ascend(store: MirroredStore) -> None:
    made = document(chunk("alpha"))
    change = Change(document=made, chunk_ids=[5], previous_ids=[None], entity_ids=[[]])
    advanced = store.snapshot.advance([change])
    with pytest.raises(ValueError, match="ascend"):
        advanced.advance([change])


def test_terms_of_the_query_reach_the_postings(store: MirroredStore) -> None:
    ids = [store.add(text) for text in ("alpha beta beta", "beta", "gamma")]
    snapshot = store.snapshot
    rows, scores = topk_bm25(
        snapshot.postings,
        snapshot.vocabulary.lookup(b"alpha nothing"),
        snapshot.rows.length,
        snapshot.rows.alive,
        None,
        snapshot.rows.n_alive,
        snapshot.rows.average_length,
        10,
    )
    assert store.ids(rows) == ids[:1]
    assert scores[0] > 0


def test_figures(store: MirroredStore) -> None:
    ids = [store.add("alpha beta", names=["Ana"]), store.add("beta")]
    store.forget(ids[1])
    figures = store.snapshot.figures()
    assert (figures["chunks"], figures["rows"], figures["terms"]) == (1, 2, 2)
    assert (figures["entities"], figures["graph_edges"]) == (1, 2)
    assert figures["vector_bytes"] == 2 * (64 + 4 + 8)


def test_another_expiry_is_seen_from_the_next_snapshot_on(store: MirroredStore) -> None:
    first = store.add("one", expires_at_us=NOW_US - 1)
    second = store.add("two", expires_at_us=NOW_US + 5)
    before = store.snapshot
    assert before.sees([first, second], ALICE, EVERYTHING, NOW_US) == [False, True]
    with store.conn:
        for chunk_id, expires_at_us in ((first, None), (second, NOW_US)):
            (found,) = documents.find(store.conn, chunk_id=chunk_id)
            documents.set_expiry(store.conn, found.id, expires_at_us)
    store.advance(Change.expiring([first, 999], None), Change.expiring([second], NOW_US))
    assert store.snapshot.sees([first, second], ALICE, EVERYTHING, NOW_US) == [True, False]
    assert store.loaded().sees([first, second], ALICE, EVERYTHING, NOW_US) == [True, False]
    assert before.sees([first, second], ALICE, EVERYTHING, NOW_US) == [False, True]
    third = store.add("three", expires_at_us=NOW_US + 1)
    assert store.snapshot.sees([first, third], ALICE, EVERYTHING, NOW_US) == [True, True]
    assert store.snapshot.sees([first, third], ALICE, EVERYTHING, NOW_US + 1) == [True, False]


def flagged_document(text: str, *names: str) -> PreparedDocument:
    held = chunk(text, names=names, relations=[(names[0], "knows", names[1])])
    return document(replace(held, flagged=True, flag_reason="override"), uri=f"held:{text}")


def test_what_is_in_quarantine_counts_nowhere(store: MirroredStore) -> None:
    for n in range(3):
        store.add(f"alpha beta {n}", names=["Ana", "Lisbon"])
    before = described(store.snapshot)
    store.put(flagged_document("alpha gamma", "Ana", "Lisbon"))
    assert described(store.snapshot) == before
    assert store.snapshot.figures()["quarantined"] == 1
    assert described(store.loaded()) == before


def test_a_released_chunk_is_mirrored_as_if_it_had_never_been_held(store: MirroredStore) -> None:
    doomed = [store.add(f"alpha {n}", names=["Ana"]) for n in range(6)]
    ((held,),) = store.put(flagged_document("alpha gamma", "Ana", "Lisbon"))
    store.add("beta delta", names=["Lisbon"])
    store.forget(*doomed)  # postings and graph are compacted, which must keep what is held
    assert store.snapshot.n_stale == 0
    with store.conn:
        assert quarantine.release(store.conn, held, WRITER, NOW_US) is not None
    store.advance(Change.release(held))
    assert held in store.snapshot.rows.chunk_id[store.snapshot.rows.alive != 0]
    assert described(store.snapshot) == described(store.loaded())
    store.forget(held)
    assert described(store.snapshot) == described(store.loaded())


def test_what_is_held_asks_for_no_rebuild(
    store: MirroredStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("brain_daemon.index.snapshot._REBUILD_ROWS", 2)
    for n in range(4):
        store.put(flagged_document(f"alpha {n}", "Ana", "Lisbon"))
    assert not store.snapshot.needs_rebuild


def test_what_is_hidden_weighs_nothing(store: MirroredStore) -> None:
    """Alice's share of a store has the statistics of a store that holds nothing else."""
    store.add("an own text", names=["Hub", "Ana"])
    store.add("a shared one, longer than that", owner="bob", access_scope="team", names=["Hub"])
    assert store.snapshot.seen_by(BOB, NOW_US) is not store.snapshot
    for i in range(5):
        store.add(f"a secret, and longer than any other {i}", owner="bob", names=["Hub", "Bob"])
    store.add("expired", expires_at_us=NOW_US - 1, names=["Hub"])
    whole, seen = store.snapshot, store.snapshot.seen_by(ALICE, NOW_US)
    assert (whole.n_alive, seen.n_alive) == (8, 3)
    assert (whole.is_whole, seen.is_whole) == (True, False)
    assert seen.rows.average_length == pytest.approx(seen.rows.length[[0, 1, 7]].mean())
    hub, ana, bob = (int(i) for i in seen.graph.lookup(["hub", "ana", "bob"]))
    assert seen.graph.degree[[hub, ana, bob]].tolist() == [3, 1, 0]
    assert whole.graph.degree[[hub, ana, bob]].tolist() == [8, 1, 5]
    assert seen.graph.factors[2 * hub + 1] == pytest.approx(3**-0.5)
    assert seen.graph.factors[2 * bob + 1] == seen.graph.factors[2 * ana + 1] == 1
    assert whole.seen_by(ALICE, NOW_US) is seen
    everything = replace(ALICE, name="bob")
    assert store.snapshot.seen_by(everything, NOW_US).n_alive == 6


def test_seeing_a_part_takes_as_many_steps_in_a_large_store(store: MirroredStore) -> None:
    """It happens on the event loop: no Python for each row, edge or name."""

    def n_steps() -> int:
        steps = 0

        def count(frame: FrameType, event: str, detail: object) -> Any:
            nonlocal steps
            frame.f_trace_opcodes = True
            steps += event == "opcode"
            return count

        snapshot = store.loaded()  # with an empty cache
        before = sys.gettrace()
        sys.settrace(count)
        try:
            snapshot.seen_by(ALICE, NOW_US)
        finally:
            sys.settrace(before)
        assert not snapshot.seen_by(ALICE, NOW_US).is_whole
        return steps

    def fill(n: int) -> None:
        for owner in ("alice", "bob"):
            parts = [chunk(f"{owner} {n} {i}", names=[f"Name {n} {i}"]) for i in range(n)]
            store.put(document(*parts, owner=owner))

    fill(2)
    few = n_steps()
    fill(300)
    assert n_steps() == few


def test_what_is_seen_follows_commits(store: MirroredStore) -> None:
    first = store.add("one", names=["Hub"])
    store.add("secret", owner="bob", names=["Hub"])
    before = store.snapshot
    assert before.seen_by(ALICE, NOW_US).graph.degree.tolist() == [1]
    store.add("two", names=["Hub", "Ana"])
    assert store.snapshot.seen_by(ALICE, NOW_US).graph.degree.tolist() == [2, 1]
    store.forget(first)
    assert store.snapshot.seen_by(ALICE, NOW_US).graph.degree.tolist() == [1, 1]
    assert before.seen_by(BOB, NOW_US).graph.degree.tolist() == [1]  # an older one still answers


def test_who_sees_all_needs_no_view(store: MirroredStore) -> None:
    store.add("one")
    store.add("two", owner="bob", access_scope="team")
    assert store.snapshot.seen_by(replace(ALICE, scopes=("team",)), NOW_US) is store.snapshot
    for i in range(20):
        store.snapshot.seen_by(replace(ALICE, name=f"user{i}"), NOW_US)
    assert len(store.snapshot._seen) <= 8
