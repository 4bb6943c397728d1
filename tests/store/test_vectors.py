from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest

from brain_daemon.errors import ModelMismatch
from brain_daemon.store import connection, documents, maintenance, meta, scan, schema, vectors

from .samples import DIM, WRITER, make_chunk, make_document, model_facts, vector_of

NEW = {"dim": 2 * DIM, "model_fingerprint": "e" * 64, "model_name": "other"}
Row = tuple[int, np.ndarray, float]


@pytest.fixture
def filled(conn: apsw.Connection) -> apsw.Connection:
    with conn:
        for number in range(20):
            documents.put(conn, make_document(f"text {number}"), WRITER, 0)
        documents.remove(conn, 7)
    return conn


def new_rows(conn: apsw.Connection, skip: frozenset[int] = frozenset()) -> Iterator[Row]:
    for chunk_id, _, _, text in list(scan.texts(conn)):
        if chunk_id not in skip:
            yield chunk_id, vector_of(text, NEW["dim"]), 0.5


def replace(conn: apsw.Connection, rows: Iterator[Row]) -> int:
    return vectors.replace_vectors(
        conn, NEW["dim"], NEW["model_fingerprint"], NEW["model_name"], rows
    )


def test_replace_changes_every_vector_and_the_model(filled: apsw.Connection) -> None:
    assert replace(filled, new_rows(filled)) == 19
    schema.prepare(filled, **model_facts(**NEW))
    with pytest.raises(ModelMismatch):
        schema.prepare(filled, **model_facts())
    ids, matrix, scales = scan.vectors(filled, NEW["dim"])
    assert len(ids) == 19
    assert matrix[0].tolist() == vector_of("text 0", NEW["dim"]).tolist()
    assert set(scales.tolist()) == {0.5}
    assert maintenance.integrity_findings(filled) == []
    with filled:
        chunk = make_chunk("new", vector=vector_of("new", NEW["dim"]))
        documents.put(filled, make_document(chunk), WRITER, 0)
    names = [row[0] for row in filled.execute("SELECT name FROM sqlite_schema")]
    assert not [name for name in names if "staged" in name]


def test_an_interrupted_replacement_leaves_the_old_index_and_resumes(
    filled: apsw.Connection, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "STAGING_BATCH", 4)
    before = scan.vectors(filled, DIM)

    def interrupted() -> Iterator[Row]:
        for number, row in enumerate(new_rows(filled)):
            if number == 10:
                raise KeyboardInterrupt
            yield row

    with pytest.raises(KeyboardInterrupt):
        replace(filled, interrupted())
    filled.close()
    conn = connection.open_writer(store_path)
    schema.prepare(conn, **model_facts())
    for old, now in zip(before, scan.vectors(conn, DIM), strict=True):
        assert np.array_equal(old, now)
    with conn:
        documents.put(conn, make_document("stored meanwhile"), WRITER, 0)
        documents.remove(conn, 2)
    done = vectors.staged_ids(conn, NEW["model_fingerprint"])
    assert done == {1, 2, 3, 4, 5, 6, 8, 9}
    assert replace(conn, new_rows(conn, frozenset(done))) == 19
    assert scan.vectors(conn, NEW["dim"])[0].tolist() == [1, *range(3, 7), *range(8, 22)]
    assert maintenance.integrity_findings(conn) == []
    conn.close()


def test_what_was_staged_for_a_third_model_is_not_mixed_in(filled: apsw.Connection) -> None:
    with pytest.raises(ValueError, match="18 chunks have no new vector"):
        replace(filled, iter(list(new_rows(filled))[:1]))
    assert vectors.staged_ids(filled, "d" * 64) == set()
    assert meta.read(filled, "model_name") == "tiny"


def test_vectors_of_a_wrong_dimension_are_refused(filled: apsw.Connection) -> None:
    with pytest.raises(ValueError, match="128 dimensions"):
        replace(filled, iter([(1, vector_of("x"), 0.5)]))
    assert maintenance.integrity_findings(filled) == []


def test_sign_bits_follow_the_vector(filled: apsw.Connection) -> None:
    bits = filled.execute("SELECT bits FROM chunk_vec WHERE rowid = 1").get
    expected = np.packbits(vector_of("text 0") > 0, bitorder="little").tobytes()
    assert bits == expected


def test_rebuild_keeps_every_vector(filled: apsw.Connection) -> None:
    before = scan.vectors(filled, DIM)
    with filled:
        vectors.rebuild(filled)
    for old, now in zip(before, scan.vectors(filled, DIM), strict=True):
        assert np.array_equal(old, now)
    assert maintenance.integrity_findings(filled) == []
