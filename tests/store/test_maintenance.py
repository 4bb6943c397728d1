from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from brain_daemon.errors import StoreDegraded
from brain_daemon.store import connection, documents, fulltext, maintenance, scan, vectors

from .samples import DIM, WRITER, make_chunk, make_document

FORGOTTEN = {
    "text": "Wobblequark",
    "title": "Zephyrtangle",
    "entity": "Glimmerfjord",
    "heading": "Brackenhollow",
    "uri": "Quillmarsh",
    "thread": "Sorrelvane",
    "relation": "Tamberwick",
}


def forgettable(number: int = 0) -> object:
    f = FORGOTTEN
    chunk = make_chunk(
        f"{f['text']} number {number}",
        title=f["title"],
        names=(f["entity"],),
        relations=((f["entity"], f["relation"], "Other"),),
        heading_path=(f["heading"],),
    )
    return make_document(
        chunk, uri=f"file:{f['uri']}/{number}", title=f["title"], thread=f["thread"]
    )


def store_bytes(path: Path) -> bytes:
    files = [Path(f"{path}{suffix}") for suffix in ("", "-wal", "-shm")]
    return b"".join(file.read_bytes() for file in files if file.exists())


@pytest.mark.parametrize("how", ["remove", "remove_chunk", "revision"])
def test_forgotten_words_are_in_no_file_after_compact(
    conn: apsw.Connection, store_path: Path, how: str
) -> None:
    for start in range(0, 300, 50):
        with conn:
            for number in range(start, start + 50):
                documents.put(conn, make_document(f"kept {number} hedgerow"), WRITER, 0)
                if number % 3 == 0:
                    documents.put(conn, forgettable(number), WRITER, 0)
    vector_blob = make_chunk(f"{FORGOTTEN['text']} number 0").vector.tobytes()
    content = store_bytes(store_path).lower()
    for word in FORGOTTEN.values():
        assert word.lower().encode()[:8] in content
    assert vector_blob in store_bytes(store_path)
    with conn:
        for found, _ in documents.page(conn, "alice", uri_prefix=f"file:{FORGOTTEN['uri']}"):
            if how == "remove":
                documents.remove(conn, found.id)
            elif how == "remove_chunk":
                (chunk_id,) = conn.execute(
                    "SELECT id FROM chunk WHERE document_id = ?", (found.id,)
                ).fetchone()
                documents.remove_chunk(conn, chunk_id)
            else:
                documents.put(conn, make_document("blank", uri=found.uri), WRITER, 0)
    maintenance.compact(conn)
    content = store_bytes(store_path)
    for kind, word in FORGOTTEN.items():
        if how == "revision" and kind == "uri":
            continue
        # Terms are stemmed and prefix-compressed, so a part of the word is looked for.
        assert word.lower().encode()[1:8] not in content.lower(), kind
    assert vector_blob not in content
    assert b"hedgerow" in content
    assert maintenance.integrity_findings(conn) == []
    assert len(fulltext.match(conn, fulltext.match_any(["hedgerow"]), 1000)) == 300


def test_what_an_interrupted_rebuild_staged_is_in_no_file_after_compact(
    conn: apsw.Connection, store_path: Path
) -> None:
    with conn:
        stored = documents.put(conn, forgettable(), WRITER, 0)
    chunk = make_chunk(FORGOTTEN["text"])

    def interrupted(row: object) -> Iterator[object]:
        yield row
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fulltext.replace_terms(conn, 9, "none", interrupted((stored.chunk_ids[0], chunk.terms)))
    with pytest.raises(ValueError, match="have no new terms"):
        fulltext.replace_terms(conn, 9, "none", iter([(77, chunk.terms)]))
    with pytest.raises(ValueError, match="have no new vector"):
        vectors.replace_vectors(conn, DIM, "a" * 64, "new", iter([(77, chunk.vector, 0.5)]))
    with conn:
        documents.remove(conn, stored.document_id)
    assert chunk.vector.tobytes() in store_bytes(store_path)
    maintenance.compact(conn)
    content = store_bytes(store_path)
    assert chunk.vector.tobytes() not in content
    for kind, word in FORGOTTEN.items():
        assert word.lower().encode()[1:8] not in content.lower(), kind
    assert fulltext.staged_ids(conn, 9, "none") == set()
    assert vectors.staged_ids(conn, "a" * 64) == set()


def test_compact_gives_room_back(conn: apsw.Connection, store_path: Path) -> None:
    with conn:
        for number in range(3 * vectors.BLOCK_ROWS):
            documents.put(conn, make_document(f"text {number} " + "lorem " * 50), WRITER, 0)
    maintenance.compact(conn)
    before = store_path.stat().st_size
    with conn:
        for document_id in range(1, 3 * vectors.BLOCK_ROWS):
            if document_id % 8:
                documents.remove(conn, document_id)
    maintenance.compact(conn)
    assert store_path.stat().st_size < before / 3
    assert Path(f"{store_path}-wal").stat().st_size == 0
    assert conn.execute("SELECT count(*) FROM chunk_vec_chunks").get == 1
    assert len(scan.vectors(conn, DIM)[0]) == 3 * vectors.BLOCK_ROWS / 8
    assert maintenance.integrity_findings(conn) == []
    with conn:
        documents.put(conn, make_document("still writable"), WRITER, 0)
    assert maintenance.integrity_findings(conn) == []


def test_compact_of_an_empty_store(conn: apsw.Connection) -> None:
    maintenance.compact(conn)
    assert maintenance.integrity_findings(conn) == []


def test_a_reader_that_holds_the_log_is_reported(conn: apsw.Connection) -> None:
    with conn:
        documents.put(conn, make_document("x"), WRITER, 0)
    conn.set_busy_timeout(1)
    reader = connection.open_reader(conn.filename)
    with scan.frozen(reader):
        assert reader.execute("SELECT count(*) FROM chunk").get == 1
        with conn:
            documents.put(conn, make_document("y"), WRITER, 0)
        with pytest.raises(StoreDegraded, match="long read"):
            maintenance.checkpoint(conn)
    reader.close()
    maintenance.checkpoint(conn)


@pytest.mark.parametrize(
    ("damage", "finding"),
    [
        ("UPDATE chunk_fts_content SET c1 = 'other words' WHERE id = 1", "integrity_check"),
        ("DELETE FROM chunk_fts_content WHERE id = 1", "chunks have no full-text entry"),
        ("DELETE FROM chunk_fts WHERE rowid = 1", "1 chunks have no full-text entry"),
        ("INSERT INTO chunk_fts(rowid, body) VALUES (99, 'ghost')", "1 full-text entries have no"),
        ("DELETE FROM chunk_vec WHERE rowid = 2", "1 chunks have no vector"),
        (
            "INSERT INTO chunk_vec(rowid, embedding, bits, scale) "
            "VALUES (99, vec_int8(zeroblob(64)), vec_bit(zeroblob(8)), 0.0)",
            "1 vectors have no chunk",
        ),
        ("DELETE FROM mention", "1 entities have neither"),
        ("DELETE FROM chunk WHERE id = 2", "1 documents have no chunk"),
        ("DELETE FROM document WHERE id = 2", "a row of chunk names a row of document"),
    ],
)
def test_each_kind_of_damage_is_found(conn: apsw.Connection, damage: str, finding: str) -> None:
    with conn:
        documents.put(conn, make_document(make_chunk("some words", names=("N",))), WRITER, 0)
        documents.put(conn, make_document("more words"), WRITER, 0)
    assert maintenance.integrity_findings(conn) == []
    conn.pragma("foreign_keys", 0)
    conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    conn.execute(damage)
    reader = connection.open_reader(conn.filename)
    assert any(finding in line for line in maintenance.integrity_findings(reader))
    assert not reader.in_transaction
    reader.close()


def test_a_zeroed_page_is_found(conn: apsw.Connection, store_path: Path) -> None:
    with conn:
        for number in range(200):
            documents.put(conn, make_document(f"text {number}"), WRITER, 0)
    maintenance.checkpoint(conn)
    page = conn.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'chunk'").get
    conn.close()
    with store_path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(bytes(4096))
    reader = connection.open_reader(store_path)
    assert maintenance.integrity_findings(reader)
    reader.close()


def test_a_connection_that_checks_again_sees_what_others_wrote(
    conn: apsw.Connection, store_path: Path
) -> None:
    """FTS5 keeps an index's structure from the first check on, and would compare with that."""
    with conn:
        first = documents.put(conn, make_document("one", "two"), WRITER, 0)
    reader = connection.open_reader(store_path)
    assert maintenance.integrity_findings(reader) == []
    with conn:
        documents.put(conn, make_document("three"), WRITER, 0)
    assert maintenance.integrity_findings(reader) == []
    with conn:
        documents.remove(conn, first.document_id)
    assert maintenance.integrity_findings(reader) == []
    reader.close()


def test_counts(conn: apsw.Connection) -> None:
    chunk = make_chunk("x", names=("A", "B"), relations=(("A", "r", "B"),))
    with conn:
        documents.put(conn, make_document(chunk, "y"), WRITER, 0)
    assert maintenance.counts(conn) == {
        "documents": 1,
        "chunks": 2,
        "entities": 2,
        "mentions": 2,
        "edges": 1,
    }
