import dataclasses
import random
import tempfile
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from msgspec.structs import replace

from brain_daemon.errors import CapacityExceeded, QuotaExceeded
from brain_daemon.model import PreparedDocument
from brain_daemon.store import (
    chunks,
    connection,
    documents,
    fulltext,
    graph,
    maintenance,
    scan,
    schema,
)
from brain_daemon.store.capacity import Capacity
from brain_daemon.text.names import entity_key

from .samples import DIM, WRITER, make_chunk, make_document, model_facts


def put(conn: apsw.Connection, document: PreparedDocument, **options: Any) -> documents.PutResult:
    with conn:
        return documents.put(conn, document, WRITER, 1_700_000_000_000_001, **options)


def assert_sound(conn: apsw.Connection) -> None:
    conn.execute("INSERT INTO chunk_fts(chunk_fts, rank) VALUES ('integrity-check', 1)")
    assert maintenance.integrity_findings(conn) == []


def test_a_new_document_reports_all_that_the_index_needs(conn: apsw.Connection) -> None:
    first = make_chunk(
        "Ana moved to Lisbon",
        names=("Ana", "Lisbon", "ANA"),
        relations=(("Ana", "lives_in", "Lisbon"), ("Ana", "is", "ana")),
        heading_path=("Life", "Moves"),
        lines=(3, 9),
    )
    result = put(conn, make_document(first, "nothing here", title="Diary"))
    assert result == documents.PutResult(
        document_id=1,
        uri="memory:1",
        revision=1,
        created=True,
        unchanged=False,
        chunk_ids=[1, 2],
        previous_ids=[None, 1],
        entity_ids=[[1, 2], []],
        edges=[graph.Edge(1, 2, "lives_in", 1)],
        new_entities=[(1, "ana", "Ana"), (2, "lisbon", "Lisbon")],
        flagged=[False, False],
    )
    assert graph.names(conn, [2, 9, 1]) == {1: "Ana", 2: "Lisbon"}
    assert graph.names(conn, []) == {}
    assert graph.find_ids(conn, ["ana", "bob"]) == {"ana": 1}
    assert graph.relations(conn, 2) == [graph.Edge(1, 2, "lives_in", 1)]
    assert graph.mentioning(conn, 1) == [1]
    again = put(conn, make_document(make_chunk("Ana again", names=("Bob", "ana"))))
    assert again.new_entities == [(3, "bob", "Bob")]
    assert again.entity_ids == [[3, 1]]
    assert_sound(conn)


def test_the_same_content_again_writes_nothing(conn: apsw.Connection) -> None:
    document = make_document("some text", uri="file:a", title="A")
    first = put(conn, document)
    before, statements = conn.total_changes(), []
    conn.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: statements.append(event["sql"]))
    with conn:
        statements.clear()
        result = documents.put(conn, document, WRITER, 5)
        assert len(statements) == 1
    conn.trace_v2(0)
    assert conn.total_changes() == before
    assert result == documents.PutResult(first.document_id, "file:a", 1, False, True)


def test_the_same_request_without_a_uri_is_one_document(conn: apsw.Connection) -> None:
    made = make_document(make_chunk("alpha"))
    first = put(conn, made)
    again = put(conn, made)
    assert (again.document_id, again.uri, again.unchanged) == (first.document_id, first.uri, True)
    named = put(conn, make_document(make_chunk("alpha"), uri="mine"))
    assert named.created
    assert put(conn, make_document(make_chunk("alpha"), owner="bob")).created
    turns = [put(conn, make_document(make_chunk("alpha"), thread="t")) for _ in range(2)]
    assert all(turn.created for turn in turns)
    with conn:
        documents.remove(conn, first.document_id)
    assert put(conn, made).created


def test_a_revision_keeps_the_document_and_replaces_its_chunks(conn: apsw.Connection) -> None:
    old = make_chunk("alpha beta", names=("Gone", "Kept"), relations=(("Gone", "knows", "Kept"),))
    first = put(conn, make_document(old, "gamma", uri="file:a"))
    new = make_chunk("delta", names=("Kept", "Fresh"))
    result = put(conn, make_document(new, uri="file:a"))
    assert (result.document_id, result.revision, result.created) == (first.document_id, 2, False)
    assert result.removed_chunk_ids == [1, 2]
    assert result.chunk_ids == [3]
    assert result.removed_entity_ids == [1]
    assert result.new_entities == [(3, "fresh", "Fresh")]
    assert result.entity_ids == [[2, 3]]
    assert [chunk.text for chunk in chunks.of_document(conn, 1)] == ["delta"]
    assert fulltext.match(conn, fulltext.match_any(["alpha", "gamma"]), 10) == []
    assert fulltext.match(conn, fulltext.match_any(["delta"]), 10) == [3]
    assert scan.vectors(conn, DIM)[0].tolist() == [3]
    assert_sound(conn)


def test_the_vector_follows_the_new_text(conn: apsw.Connection) -> None:
    put(conn, make_document("one", uri="file:a"))
    put(conn, make_document("two", uri="file:a"))
    _, matrix, _ = scan.vectors(conn, DIM)
    assert matrix[0].tolist() == make_chunk("two").vector.tolist()


def test_ids_are_never_used_again(conn: apsw.Connection) -> None:
    put(conn, make_document(make_chunk("a", names=("N",))))
    with conn:
        removal = documents.remove(conn, 1)
    assert removal == documents.Removal([1], [1])
    result = put(conn, make_document(make_chunk("a", names=("N",))))
    assert (result.document_id, result.chunk_ids, result.entity_ids) == (2, [2], [[2]])
    assert result.uri == "memory:2"


def test_tenants_share_a_uri_without_meeting(conn: apsw.Connection) -> None:
    put(conn, make_document("hers", uri="file:a", owner="alice"))
    his = put(conn, make_document("his", uri="file:a", owner="bob"))
    work = put(conn, make_document("work", uri="file:a", owner="alice", domain="work"))
    assert his.created
    assert work.created
    assert [d.tags.owner for d in documents.find(conn, uri="file:a")] == ["alice", "bob", "alice"]
    assert [c.text for c in chunks.fetch(conn, [1, 2, 3])] == ["hers", "his", "work"]


def test_an_imported_memory_uri_is_not_taken_over(conn: apsw.Connection) -> None:
    put(conn, make_document("imported", uri="memory:2"))
    result = put(conn, make_document("new"))
    assert result.uri == "memory:3"
    assert result.document_id == 3
    assert chunks.fetch(conn, [1])[0].uri == "memory:2"


def test_find_and_page(conn: apsw.Connection) -> None:
    document = make_document(
        "text",
        uri="file:v/a.md",
        title="A",
        node_kind="note",
        lawful_basis="consent",
        region="eu",
        pii=True,
        expires_at_us=7,
        thread="t",
        seq=3,
    )
    put(conn, document)
    put(conn, make_document("other", uri="file:v/ä.md"))
    put(conn, make_document("elsewhere", uri="file:w"))
    (found,) = documents.find(conn, chunk_id=1)
    assert found.tags == document.tags
    assert found.content_hash == document.content_hash
    assert found.writer == WRITER
    assert found.stored_at_us == 1_700_000_000_000_001
    assert documents.find(conn, document_id=1) == [found]
    assert documents.find(conn, uri="file:v/a.md") == [found]
    assert documents.find(conn, chunk_id=99) == []
    owner = document.tags.owner
    listed = documents.page(conn, owner, uri_prefix="file:v/")
    assert [(d.uri, n) for d, n in listed] == [("file:v/a.md", 1), ("file:v/ä.md", 1)]
    first = documents.page(conn, owner, limit=2)
    assert [d.id for d, _ in first] == [1, 2]
    assert [d.id for d, _ in documents.page(conn, owner, after=2)] == [3]
    assert documents.page(conn, owner, uri_prefix="file:%") == []
    assert documents.page(conn, "somebody else") == []


def test_remove_chunk_spoils_the_hash_and_ends_an_empty_document(conn: apsw.Connection) -> None:
    document = make_document(make_chunk("one", names=("N",)), "two", uri="file:a")
    put(conn, document)
    with conn:
        assert documents.remove_chunk(conn, 1) == documents.Removal([1], [1])
        assert documents.remove_chunk(conn, 1) == documents.Removal([], [])
    assert_sound(conn)
    again = put(conn, document)
    assert (again.unchanged, again.revision, again.removed_chunk_ids) == (False, 2, [2])
    with conn:
        documents.remove_chunk(conn, 3)
        documents.remove_chunk(conn, 4)
    assert documents.find(conn, uri="file:a") == []
    assert_sound(conn)


def test_an_edge_keeps_its_entities_until_its_chunk_leaves(conn: apsw.Connection) -> None:
    put(conn, make_document(make_chunk("x", relations=(("A", "knows", "B"),))))
    put(conn, make_document(make_chunk("y", relations=(("A", "knows", "B"),))))
    put(conn, make_document(make_chunk("z", names=("B",))))
    with conn:
        assert documents.remove(conn, 1).entity_ids == []
        assert documents.remove(conn, 2).entity_ids == [1]
        assert documents.remove(conn, 3).entity_ids == [2]
    assert maintenance.counts(conn) == dict.fromkeys(
        ("documents", "chunks", "entities", "mentions", "edges"), 0
    )


def test_chunks_of_a_thread_are_chained_by_seq(conn: apsw.Connection) -> None:
    def say(text: str, seq: int | None, **tags: Any) -> int | None:
        document = make_document(text, "tail", **({"thread": "t", "seq": seq} | tags))
        return put(conn, document).previous_ids[0]

    assert say("one", 1) is None
    assert say("five", 5) == 2
    assert say("three", 3) == 2
    assert say("five again", 5) == 4
    assert say("before all", 0) is None
    assert say("another thread", 9, thread="u") is None
    assert say("another owner", 9, owner="bob") is None
    assert say("another domain", 9, domain="work") is None
    assert say("no seq", None) == 10
    assert put(conn, make_document("alone")).previous_ids == [None]


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_vector_without_direction_is_stored_as_zeros(conn: apsw.Connection, scale: float) -> None:
    put(conn, make_document(make_chunk("🎉🎉", scale=scale)))
    put(conn, make_document(make_chunk("  ", vector=np.zeros(DIM, np.int8), scale=0.5)))
    _, matrix, scales = scan.vectors(conn, DIM)
    assert not matrix.any()
    assert scales.tolist() == [0.0, 0.0]
    assert_sound(conn)


def test_refused_documents_leave_nothing(conn: apsw.Connection) -> None:
    before = conn.total_changes()
    for bad in (
        make_document(),
        make_document("good", make_chunk("bad", vector=np.zeros(DIM, np.float32))),
    ):
        with pytest.raises(ValueError, match=r"chunk|int8"):
            put(conn, bad)
    assert conn.total_changes() == before
    with pytest.raises(apsw.SQLError):
        put(conn, make_document(make_chunk("bad", vector=np.ones(2 * DIM, np.int8))))
    assert maintenance.counts(conn)["documents"] == 0


def test_a_savepoint_undoes_one_document_of_a_batch(conn: apsw.Connection) -> None:
    with conn:
        documents.put(conn, make_document(make_chunk("kept", names=("N",))), WRITER, 0)
        conn.execute("SAVEPOINT job")
        documents.put(conn, make_document(make_chunk("undone", names=("M",))), WRITER, 0)
        conn.execute("ROLLBACK TO job")
        conn.execute("RELEASE job")
        third = documents.put(conn, make_document(make_chunk("third", names=("L",))), WRITER, 0)
    assert third.chunk_ids == [2]
    assert [row[1] for row in scan.terms(conn)] == [b"kept", b"third"]
    assert_sound(conn)


TABLES = {
    "document": "id",
    "chunk": "id",
    "chunk_fts": "rowid",
    "chunk_vec": "rowid",
    "entity": "id",
    "mention": "chunk_id, entity_id",
    "edge": "chunk_id, source_id, target_id, relation",
    "usage": "owner",
    "sqlite_sequence": "name",
}


def content(conn: apsw.Connection) -> dict[str, list[Any]]:
    return {
        table: conn.execute(f"SELECT * FROM {table} ORDER BY {order}").fetchall()
        for table, order in TABLES.items()
    }


def a_put(rng: random.Random) -> documents.Put:
    names = ["Ana", "ana", "Bo", "C++", "Lisbon", "lisbon"]
    made = [
        replace(
            make_chunk(
                f"words {rng.randrange(6)}",
                names=tuple(rng.sample(names, rng.randrange(3))),
                relations=(("Ana", "knows", rng.choice(names)),) if rng.random() < 0.3 else (),
            ),
            flagged=rng.random() < 0.1,
        )
        for _ in range(rng.choice([0, 1, 1, 1, 2, 3]))
    ]
    document = make_document(
        *made,
        uri=rng.choice([None, None, "file:a", "file:b\0", f"memory:{rng.randrange(1, 30)}"]),
        owner=rng.choice(["alice", "bob"]),
        domain=rng.choice(["default", "work"]),
        thread=rng.choice([None, None, "talk"]),
        seq=rng.choice([None, 1, 2]),
    )
    quota = rng.choice([None, None, 6_000])
    capacity = Capacity(chunks=rng.choice([0, 0, 20]))
    return documents.Put(document, WRITER, 5, rng.choice([1, 1, 7]), quota, capacity)


def one_by_one(conn: apsw.Connection, puts: list[documents.Put]) -> list[Any]:
    results: list[Any] = []
    for each in puts:
        try:
            results.append(documents.put(conn, *each))
        except (ValueError, QuotaExceeded, CapacityExceeded) as refusal:
            results.append(refusal)
    return results


def told(results: list[Any]) -> list[Any]:
    return [
        str(r) if isinstance(r, Exception) else dataclasses.replace(r, new_entities=[])
        for r in results
    ]


@pytest.mark.parametrize("seed", range(12))
def test_many_at_once_are_stored_as_one_after_the_other(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    stores = [connection.open_writer(tmp_path / f"{name}.db") for name in ("many", "one")]
    for conn in stores:
        schema.prepare(conn, **model_facts())
    many, one = stores
    for _ in range(6):
        puts = [a_put(rng) for _ in range(rng.randrange(1, 16))]
        with many, one:
            at_once, alone = documents.put_many(many, puts), one_by_one(one, puts)
        assert told(at_once) == told(alone)
        created = [
            [entity for r in results if not isinstance(r, Exception) for entity in r.new_entities]
            for results in (at_once, alone)
        ]
        assert created[0] == created[1]
        assert content(many) == content(one)
        assert_sound(many)
    for conn in stores:
        conn.close()


def test_many_at_once_are_looked_for_together(conn: apsw.Connection) -> None:
    asked: list[str] = []
    conn.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: asked.append(event["sql"]))
    puts = [
        documents.Put(make_document(make_chunk(f"words {n}", names=(f"N{n}",))), WRITER, 0)
        for n in range(20)
    ]
    with conn:
        documents.put_many(conn, puts)
    conn.trace_v2(0, None)
    assert len([sql for sql in asked if "carray" in sql]) == 3  # hashes, given names, entities


URIS = st.sampled_from(["file:a", "file:b", "file:c"])
OWNERS = st.sampled_from(["alice", "bob"])
NAMES = st.lists(st.sampled_from(["Ana", "ana", "Bo", "C++", "Lisbon"]), max_size=3)
WORDS = st.lists(
    st.sampled_from(["red", "green", "blue", "naïve", "成语", "C++"]), min_size=1, max_size=4
)
CHUNKS = st.lists(st.tuples(WORDS, NAMES), min_size=1, max_size=3)


class StoreMachine(RuleBasedStateMachine):
    """put, replace and remove against a plain dict of what each document holds."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.conn = connection.open_writer(Path(self.folder.name) / "brain.db")
        schema.prepare(self.conn, **model_facts())
        self.held: dict[int, list[tuple[int, str, set[str]]]] = {}
        self.ids: dict[tuple[str, str], int] = {}

    def teardown(self) -> None:
        self.conn.close()
        self.folder.cleanup()

    @rule(uri=st.none() | URIS, owner=OWNERS, parts=CHUNKS)
    def put(self, uri: str | None, owner: str, parts: list[tuple[list[str], list[str]]]) -> None:
        made = [
            make_chunk(
                " ".join(words),
                names=tuple(names),
                relations=((names[0], "with", names[-1]),) if names else (),
            )
            for words, names in parts
        ]
        document = make_document(*made, uri=uri, owner=owner)
        result = put(self.conn, document)
        known = self.ids.get((uri, owner)) if uri else None
        if result.unchanged:
            held = [text for _, text, _ in self.held[result.document_id]]
            assert held == [chunk.text for chunk in made]
            assert self.ids[result.uri, owner] == result.document_id
            assert known == (result.document_id if uri else None)
            return
        assert result.created == (known is None)
        if known is not None:
            assert result.document_id == known
            assert result.removed_chunk_ids == [chunk_id for chunk_id, _, _ in self.held[known]]
        self.ids[result.uri, owner] = result.document_id
        self.held[result.document_id] = [
            (chunk_id, chunk.text, {entity_key(m.name) for m in chunk.mentions})
            for chunk_id, chunk in zip(result.chunk_ids, made, strict=True)
        ]

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        if not self.held:
            return
        document_id = data.draw(st.sampled_from(sorted(self.held)))
        with self.conn:
            removal = documents.remove(self.conn, document_id)
        assert removal.chunk_ids == [chunk_id for chunk_id, _, _ in self.held.pop(document_id)]
        self.ids = {key: value for key, value in self.ids.items() if value != document_id}

    @rule(data=st.data())
    def remove_chunk(self, data: st.DataObject) -> None:
        if not self.held:
            return
        document_id = data.draw(st.sampled_from(sorted(self.held)))
        chunk_id = data.draw(st.sampled_from([c for c, _, _ in self.held[document_id]]))
        with self.conn:
            documents.remove_chunk(self.conn, chunk_id)
        self.held[document_id] = [c for c in self.held[document_id] if c[0] != chunk_id]
        if not self.held[document_id]:
            del self.held[document_id]
            self.ids = {key: value for key, value in self.ids.items() if value != document_id}

    @rule()
    def compact(self) -> None:
        maintenance.compact(self.conn)

    @invariant()
    def agrees_with_the_plain_model(self) -> None:
        conn = self.conn
        expected = sorted(c for held in self.held.values() for c in held)
        ids = [chunk_id for chunk_id, _, _ in expected]
        assert [c.text for c in chunks.fetch(conn, ids)] == [text for _, text, _ in expected]
        assert scan.attributes(conn).chunk_ids.tolist() == ids
        assert [row[0] for row in scan.terms(conn)] == ids
        vector_ids, matrix, _ = scan.vectors(conn, DIM)
        assert vector_ids.tolist() == ids
        for row, (_, text, _) in zip(matrix, expected, strict=True):
            assert row.tolist() == make_chunk(text).vector.tolist()
        keys = {entity_id: key for entity_id, key, _ in scan.entities(conn)}
        assert set(keys.values()) == set().union(*(names for _, _, names in expected))
        found = {
            (c, keys[e]) for c, e in zip(*map(np.ndarray.tolist, scan.mentions(conn)), strict=True)
        }
        assert found == {(c, key) for c, _, names in expected for key in names}
        assert_sound(conn)


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(max_examples=40, stateful_step_count=20)


def test_a_document_that_lost_a_chunk_is_never_taken_for_unchanged(conn: apsw.Connection) -> None:
    """Two exports of it, made before and after a second loss, carry the same cleared hash."""
    whole = replace(make_document("a", "b", "c", uri="u"), content_hash=documents.FORGOTTEN_HASH)
    less = replace(make_document("a", "b", uri="u"), content_hash=documents.FORGOTTEN_HASH)
    with conn:
        documents.put(conn, whole, WRITER, 0)
        again = documents.put(conn, less, WRITER, 0)
    assert not again.unchanged
    assert maintenance.counts(conn)["chunks"] == 2


@pytest.mark.parametrize(
    "relation", [("Ana", "is", "ANA"), ("Ana", "knows", "\0"), ("\n", "x", "Bo")]
)
def test_a_relation_that_joins_no_two_makes_no_entity(
    conn: apsw.Connection, relation: tuple[str, str, str]
) -> None:
    result = put(conn, make_document(make_chunk("a", relations=(relation,))))
    assert (result.new_entities, result.edges) == ([], [])
    assert maintenance.integrity_findings(conn) == []
