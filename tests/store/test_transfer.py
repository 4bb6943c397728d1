from pathlib import Path

import apsw
import numpy as np

from brain_daemon.store import (
    chunks,
    connection,
    documents,
    fulltext,
    maintenance,
    scan,
    schema,
    transfer,
)

from .samples import DIM, WRITER, make_chunk, make_document, model_facts


def test_a_round_trip_keeps_all_that_recall_depends_on(
    conn: apsw.Connection, tmp_path: Path
) -> None:
    rich = make_chunk(
        "Ana moved to Lisbon",
        names=("Ana", "Lisbon"),
        relations=(("Ana", "lives_in", "Lisbon"),),
        heading_path=("Life",),
        lines=(3, 9),
    )
    with conn:
        documents.put(conn, make_document("gone"), WRITER, 0)
        documents.put(conn, make_document("first", uri="file:a"), WRITER, 1)
        documents.put(conn, make_document(rich, "tail", title="T", pii=True, seq=3), WRITER, 2)
        documents.put(conn, make_document("revised", uri="file:a"), WRITER, 3)
        documents.remove(conn, 1)
    with scan.frozen(conn):
        records = list(transfer.iter_documents(conn))
    assert [record["uri"] for record in records] == ["memory:3", "file:a"]

    other = connection.open_writer(tmp_path / "other.db")
    schema.prepare(other, **model_facts())
    with other:
        for record in records:
            result = documents.put(
                other,
                transfer.from_export(record),
                record["writer"],
                record["stored_at_us"],
                record["revision"],
            )
            assert result.created
            assert result.revision == record["revision"]
    assert list(transfer.iter_documents(other)) == records
    assert maintenance.counts(other) == maintenance.counts(conn)
    assert maintenance.integrity_findings(other) == []
    for ours, theirs in zip(scan.vectors(conn, DIM)[1:], scan.vectors(other, DIM)[1:], strict=True):
        assert np.array_equal(ours, theirs)
    assert [t for _, t in scan.terms(conn)] == [t for _, t in scan.terms(other)]
    query = fulltext.match_any(["ana", "revis"])
    scores = [[score for _, score in fulltext.rank_bm25(c, query, 9)] for c in (conn, other)]
    assert scores[0] == scores[1]
    assert len(scores[0]) == 2
    stored = [chunks.fetch(c, scan.attributes(c).chunk_ids.tolist()) for c in (conn, other)]
    for ours, theirs in zip(*stored, strict=True):
        assert (ours.uri, ours.text, ours.tags, ours.revision, ours.heading_path) == (
            theirs.uri,
            theirs.text,
            theirs.tags,
            theirs.revision,
            theirs.heading_path,
        )
    other.close()


def test_storing_an_export_again_changes_nothing(conn: apsw.Connection) -> None:
    with conn:
        documents.put(conn, make_document("text"), WRITER, 0)
        (record,) = transfer.iter_documents(conn)
        assert documents.put(conn, transfer.from_export(record), WRITER, 0).unchanged
