"""What an owner has stored is counted by the store itself, over every way of writing."""

import apsw
import pytest

from brain_daemon.errors import QuotaExceeded
from brain_daemon.store import documents, maintenance, schema, usage

from .samples import WRITER, make_chunk, make_document


def total(conn: apsw.Connection, owner: str = "alice") -> int:
    counted = usage.stored_bytes(conn, owner)
    summed = conn.execute("SELECT sum(n_bytes) FROM document WHERE owner = ?", (owner,)).get
    assert counted == (summed or 0)
    assert maintenance.integrity_findings(conn) == []
    return counted


def test_a_document_is_charged_for_text_names_and_chunks() -> None:
    document = make_document(
        make_chunk("ä" * 10, names=("Ana",), relations=(("Ana", "knows", "Bo"),)),
        make_chunk("b", heading_path=("X",)),
        uri="u",
        title="T",
    )
    names = len("u" + "T" + "Ana" + "Ana" + "knows" + "Bo")
    assert usage.charge(document) == 2 * 512 + 20 + 1 + names + len("[]") + len('["X"]')


def test_the_count_follows_every_change(conn: apsw.Connection) -> None:
    with conn:
        first = documents.put(conn, make_document("one", "two", uri="a"), WRITER, 1)
        documents.put(conn, make_document("other", owner="bob"), WRITER, 1)
    before = total(conn)
    assert before == 2 * 512 + len("one" + "two" + "a" + "[]" * 2)
    with conn:
        documents.put(conn, make_document("one", "two", "three", uri="a"), WRITER, 2)
    assert total(conn) == before + 512 + len("three" + "[]")
    with conn:
        again = documents.put(conn, make_document("one", "two", uri="a"), WRITER, 3)
    assert total(conn) == before
    with conn:
        documents.remove_chunk(conn, again.chunk_ids[1])
    assert total(conn) == before - 512 - len("two" + "[]")
    with conn:
        documents.remove(conn, first.document_id)
    assert total(conn) == 0
    assert total(conn, "bob") > 0


def test_a_transaction_that_is_rolled_back_counts_nothing(conn: apsw.Connection) -> None:
    conn.execute("BEGIN")
    documents.put(conn, make_document("one"), WRITER, 1)
    assert usage.stored_bytes(conn, "alice") > 0
    conn.execute("ROLLBACK")
    assert total(conn) == 0


def test_above_the_quota_nothing_is_written(conn: apsw.Connection) -> None:
    document = make_document("one", uri="a")
    size = usage.charge(document)
    before = conn.total_changes()
    with pytest.raises(QuotaExceeded, match=f"alice has 0 bytes .* adds {size}, limit {size - 1}"):
        documents.put(conn, document, WRITER, 1, quota_bytes=size - 1)
    assert conn.total_changes() == before
    with conn:
        documents.put(conn, document, WRITER, 1, quota_bytes=size)
    with conn:  # unchanged, and smaller, are not more
        documents.put(conn, document, WRITER, 1, quota_bytes=0)
        documents.put(conn, make_document("o", uri="a"), WRITER, 1, quota_bytes=0)


@pytest.mark.parametrize(
    "fault",
    [
        "UPDATE usage SET n_bytes = n_bytes + 1",
        "DELETE FROM usage",
        "INSERT INTO usage VALUES ('nobody', 7)",
    ],
)
def test_a_wrong_count_is_a_finding(conn: apsw.Connection, fault: str) -> None:
    with conn:
        documents.put(conn, make_document("one"), WRITER, 1)
        conn.execute(fault)
    (finding,) = maintenance.integrity_findings(conn)
    assert "counted for their quota" in finding


def test_an_older_store_is_counted_when_it_is_migrated(conn: apsw.Connection) -> None:
    for owner, texts in (("alice", ["one", "two"]), ("bob", ["three"]), ("alice", ["four"])):
        with conn:
            documents.put(conn, make_document(*texts, owner=owner, uri=texts[0]), WRITER, 1)
    counted = total(conn), total(conn, "bob")
    conn.execute("DROP TABLE usage; ALTER TABLE document DROP COLUMN n_bytes")
    with conn:
        schema._usage(conn)
    assert (total(conn), total(conn, "bob")) == counted
    with conn:
        documents.put(conn, make_document("one", "two!", uri="one"), WRITER, 2)
    assert total(conn) == counted[0] + 1
