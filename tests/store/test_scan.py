import random

import apsw
import numpy as np
import pytest

from brain_daemon.store import connection, documents, scan, vectors

from .samples import DIM, WRITER, make_chunk, make_document


def fill(conn: apsw.Connection) -> None:
    """More rows than one block of vec0, with places freed and used again."""
    choose = random.Random(5)
    with conn:
        for number in range(2 * vectors.BLOCK_ROWS + 40):
            documents.put(conn, make_document(f"text {number}"), WRITER, 0)
        for document_id in choose.sample(range(3, 500), 120):
            documents.remove(conn, document_id)
        for number in range(60):
            documents.put(conn, make_document(f"later {number}"), WRITER, 0)


def test_the_fast_path_gives_what_the_select_gives(
    conn: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(conn)
    expected = scan._select_vectors(conn, DIM, 492)
    monkeypatch.setattr(scan, "_select_vectors", None)
    found = scan.vectors(conn, DIM)
    assert [array.dtype for array in found] == [np.int64, np.int8, np.float32]
    for ours, theirs in zip(found, expected, strict=True):
        assert np.array_equal(ours, theirs)
    assert np.all(np.diff(found[0]) > 0)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE chunk_vec_vector_chunks00 SET vectors = zeroblob(length(vectors))",
        "UPDATE chunk_vec_metadatachunks00 SET data = zeroblob(length(data))",
        "UPDATE chunk_vec_metadatachunks00 SET data = zeroblob(length(data) / 2)",
        "UPDATE chunk_vec_chunks SET rowids = zeroblob(length(rowids))",
        "UPDATE chunk_vec_chunks SET rowids = CAST(substr(rowids, 1, 8) || x'00ffff0000000000' "
        "|| substr(rowids, 17) AS BLOB) WHERE chunk_id = 1",
        "UPDATE chunk_vec_chunks SET validity = zeroblob(length(validity))",
        "ALTER TABLE chunk_vec_metadatachunks00 RENAME TO elsewhere",
    ],
)
def test_a_layout_that_is_not_as_known_falls_back_to_the_select(
    conn: apsw.Connection, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """The blocks are spoiled on purpose, so that only the fall-back can be right."""
    fill(conn)
    expected = scan._select_vectors(conn, DIM, 492)
    conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    conn.execute("BEGIN")
    conn.execute(change)
    calls = []

    def select(*arguments: object) -> object:
        calls.append(arguments)
        return expected

    monkeypatch.setattr(scan, "_select_vectors", select)
    agrees = scan._agrees
    monkeypatch.setattr(scan, "_agrees", lambda conn, *found: agrees(clean, *found))
    clean = connection.open_reader(conn.filename)
    assert scan.vectors(conn, DIM) is expected
    assert len(calls) == 1
    clean.close()
    conn.execute("ROLLBACK")


def test_attributes_are_columns_by_chunk(conn: apsw.Connection) -> None:
    with conn:
        documents.put(conn, make_document("a", "b", uri="u", pii=True), WRITER, 0)
        documents.put(
            conn,
            make_document("c", domain="work", region="eu", created_at_us=5, expires_at_us=9),
            WRITER,
            0,
        )
        documents.put(conn, make_document("d", uri="u", pii=True, source="vault"), WRITER, 0)
    found = scan.attributes(conn)
    assert found.chunk_ids.tolist() == [3, 4]
    assert found.document_ids.tolist() == [2, 1]
    assert found.previous_ids.tolist() == [0, 0]
    assert found.created_at_us.tolist() == [5, 1_700_000_000_000_000]
    assert found.expires_at_us.tolist() == [9, scan.NEVER_US]
    assert found.pii.tolist() == [0, 1]
    assert found.flagged.tolist() == [0, 0]
    decoded = {name: [found.values[name][c] for c in found.codes[name]] for name in scan.CODED}
    assert decoded == {
        "source": ["memory", "vault"],
        "domain": ["work", "default"],
        "access_scope": ["private", "private"],
        "owner": ["alice", "alice"],
        "node_kind": [None, None],
        "lawful_basis": [None, None],
        "region": ["eu", None],
    }


def test_an_empty_store_gives_empty_columns(conn: apsw.Connection) -> None:
    found = scan.attributes(conn)
    assert len(found.chunk_ids) == len(found.pii) == len(found.codes["owner"]) == 0
    ids, matrix, scales = scan.vectors(conn, DIM)
    assert (ids.shape, matrix.shape, scales.shape) == ((0,), (0, DIM), (0,))
    assert list(scan.terms(conn)) == list(scan.texts(conn)) == list(scan.entities(conn)) == []
    assert [len(a) for a in scan.mentions(conn)] == [0, 0]
    assert [len(a) for a in scan.edges(conn)] == [0, 0, 0, 0]


def test_terms_are_joined_by_single_spaces(conn: apsw.Connection) -> None:
    with conn:
        documents.put(conn, make_document("fooBar", title="T"), WRITER, 0)
        documents.put(conn, make_document("plain"), WRITER, 0)
        documents.put(conn, make_document("...", uri="dots"), WRITER, 0)
    for _, terms in scan.terms(conn):
        assert terms == b"" or all(terms.split(b" "))
    assert list(scan.terms(conn))[1] == (2, b"plain")


def test_mentions_edges_and_texts(conn: apsw.Connection) -> None:
    chunk = make_chunk("x", names=("B", "A"), relations=(("A", "r", "B"),), heading_path=("h",))
    with conn:
        documents.put(conn, make_document(chunk, title="T"), WRITER, 0)
    assert [a.tolist() for a in scan.mentions(conn)] == [[1, 1], [1, 2]]
    assert [list(a) for a in scan.edges(conn)] == [[2], [1], [1], ["r"]]
    assert list(scan.entities(conn)) == [(1, "b", "B"), (2, "a", "A")]
    assert list(scan.texts(conn)) == [(1, "T", '["h"]', "x")]


def test_frozen_scans_show_one_commit(conn: apsw.Connection) -> None:
    reader = connection.open_reader(conn.filename)
    with scan.frozen(reader):
        assert len(scan.attributes(reader).chunk_ids) == 0
        with conn:
            documents.put(conn, make_document("x"), WRITER, 0)
        assert len(scan.vectors(reader, DIM)[0]) == 0
    assert len(scan.vectors(reader, DIM)[0]) == 1
    reader.close()


def test_the_start_up_scan_reads_no_text(conn: apsw.Connection) -> None:
    fill(conn)
    plans: list[str] = []

    def explain(cursor: apsw.Cursor, sql: str, bindings: object) -> bool:
        if " FROM chunk" in sql and not sql.startswith("EXPLAIN"):
            other = connection.open_reader(conn.filename)
            rows = other.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)  # type: ignore[arg-type]
            plans.extend(row[3] for row in rows)
            other.close()
        return True

    conn.exec_trace = explain
    scan.attributes(conn)
    conn.execute("SELECT id FROM chunk").fetchall()
    conn.exec_trace = None
    assert [plan.rpartition(" ")[0] for plan in plans] == ["SCAN chunk USING COVERING INDEX"] * 2
