"""Counting, checking and compacting a store. When to do so is the caller's decision."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw

from brain_daemon.errors import StoreDegraded
from brain_daemon.store import checksums, failures, fulltext, log, vectors

_PLURALS = {
    "document": "documents",
    "chunk": "chunks",
    "entity": "entities",
    "mention": "mentions",
    "edge": "edges",
}


def counts(conn: apsw.Connection) -> dict[str, int]:
    """Give how many rows there are: documents, chunks, entities, mentions, edges."""
    return {name: _count(conn, table) for table, name in _PLURALS.items()}


def documents_by(conn: apsw.Connection) -> dict[str, dict[str, int]]:
    """Count documents by source and by domain."""
    return {
        "by_source": dict(conn.execute("SELECT source, count(*) FROM document GROUP BY 1")),
        "by_domain": dict(conn.execute("SELECT domain, count(*) FROM document GROUP BY 1")),
    }


def integrity_findings(conn: apsw.Connection) -> list[str]:
    """Check the file's structure, FTS5 against its content, and the tables against each other.

    Reads everything; works on a reader connection, in one read transaction.

    Returns
    -------
    list of str
        What is wrong, one sentence each; empty for a sound store.

    Notes
    -----
    ``PRAGMA integrity_check`` makes FTS5 compare its index with its content, as its own
    ``integrity-check`` with rank 1 does, but needs no write.
    """
    findings: list[str] = []
    own_transaction = not conn.in_transaction
    if own_transaction:
        conn.execute("BEGIN")
    try:
        # Opening a cursor makes FTS5 forget the structure that it read before others wrote;
        # the check alone would compare with that one and report a false mismatch.
        conn.execute("SELECT rowid FROM chunk_fts LIMIT 1").fetchall()
        for (line,) in conn.execute("PRAGMA integrity_check"):
            if line != "ok":
                findings.append(f"integrity_check: {line}")
        for table, _, parent, _ in conn.execute("PRAGMA foreign_key_check"):
            findings.append(f"a row of {table} names a row of {parent} that is gone")
        for description, statement in _AGREEMENTS:
            number = conn.execute(statement).get
            if number:
                findings.append(f"{number} {description}")
    except (*failures.UNSOUND, apsw.SQLError) as error:
        findings.append(f"the file is damaged: {error}")
    finally:
        if own_transaction and conn.in_transaction:  # damage that was met may have ended it
            conn.execute("ROLLBACK")
    return findings


_AGREEMENTS = (
    (
        "chunks have no full-text entry",
        "SELECT count(*) FROM chunk WHERE id NOT IN (SELECT id FROM chunk_fts_content)",
    ),
    (
        "full-text entries have no chunk",
        "SELECT count(*) FROM chunk_fts_content WHERE id NOT IN (SELECT id FROM chunk)",
    ),
    (
        "chunks have no vector",
        "SELECT count(*) FROM chunk WHERE id NOT IN (SELECT rowid FROM chunk_vec)",
    ),
    (
        "vectors have no chunk",
        "SELECT count(*) FROM (SELECT rowid AS id FROM chunk_vec) "
        "WHERE id NOT IN (SELECT id FROM chunk)",
    ),
    (
        "owners have more or less stored than is counted for their quota",
        "SELECT count(*) FROM (SELECT owner, sum(n_bytes) AS n FROM document GROUP BY owner) "
        "FULL JOIN usage USING (owner) WHERE ifnull(usage.n_bytes, 0) <> ifnull(n, 0)",
    ),
    (
        "vectors have a scale without a direction, or a direction without a scale",
        "SELECT count(*) FROM chunk_vec "
        "WHERE (scale = 0) != (embedding = zeroblob(length(embedding)))",
    ),
    (
        "vectors are not those of their signs",
        "SELECT count(*) FROM chunk_vec WHERE bits != vec_quantize_binary(vec_int8(embedding))",
    ),
    (
        "documents have no chunk",
        "SELECT count(*) FROM document "
        "WHERE NOT EXISTS (SELECT 1 FROM chunk WHERE document_id = document.id)",
    ),
    (
        "entities have neither mention nor edge",
        "SELECT count(*) FROM entity "
        "WHERE NOT EXISTS (SELECT 1 FROM mention WHERE entity_id = entity.id) "
        "AND NOT EXISTS (SELECT 1 FROM edge WHERE source_id = entity.id) "
        "AND NOT EXISTS (SELECT 1 FROM edge WHERE target_id = entity.id)",
    ),
)


def compact(conn: apsw.Connection) -> None:
    """Give back freed space, so that what was removed is in no file of the store any more.

    Full-text segments are merged into one (a removed word stays in its segment until then), the
    vector table is made anew when a block's worth of it is empty, the file is rewritten and the
    write-ahead log emptied. Needs room for a second copy of the store.

    Parameters
    ----------
    conn : apsw.Connection
        The writer, outside a transaction.

    Raises
    ------
    StoreDegraded
        A reader kept the log from being emptied for longer than the busy time-out; everything
        else is done.
    """
    blocks = _count(conn, "chunk_vec_chunks")
    with conn:
        drop_staged(conn)
        if blocks * vectors.BLOCK_ROWS - _count(conn, "chunk") >= vectors.BLOCK_ROWS:
            vectors.rebuild(conn)
        conn.execute("INSERT INTO chunk_fts(chunk_fts) VALUES ('optimize')")
    conn.execute("VACUUM")
    checkpoint(conn)


def settle(conn: apsw.Connection) -> checksums.Check:
    """Move a log that was left over into the file, then check the file's pages.

    Parameters
    ----------
    conn : apsw.Connection
        The writer; nobody else has the file open.

    Notes
    -----
    A file without checksums (of an older release) and one whose log has no room are not checked.
    A log that was damaged stays as it is: moving it into the file would make the loss final.
    """
    n_lost = log.n_cut_off(log.path(conn))
    if n_lost:
        conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        return checksums.Check(
            f"{n_lost} commits cannot be read, for the write-ahead log is damaged before them (to "
            "go on without them, move it away)"
        )
    try:
        checkpoint(conn)
    except (apsw.FullError, apsw.ReadOnlyError):
        return checksums.Check()
    return check_pages(conn)


def check_pages(conn: apsw.Connection) -> checksums.Check:
    """Check every page of a file that nobody writes; nothing is wrong with one without checksums.

    Of the zeroed pages those do not count that end a block of vectors: vec0 makes its blocks of
    zeros. What was lost there shows as vectors without direction (`index.load`).
    """
    path = Path(conn.filename)
    if not checksums.are_on(path):
        return checksums.Check()
    check = checksums.check(path)
    if check.zeroed:
        try:
            ends = {row[0] for row in conn.execute(_VECTOR_PAGES)}
        except failures.UNSOUND:
            ends = set()
        check = replace(check, zeroed=[number for number in check.zeroed if number not in ends])
    return check


_VECTOR_PAGES = (
    "SELECT pageno FROM dbstat WHERE name = 'chunk_vec_vector_chunks00' AND pagetype = 'overflow' "
    "UNION ALL SELECT pageno FROM dbstat "
    "WHERE name = 'chunk_vec_vector_chunks01' AND pagetype = 'overflow'"
)


def drop_staged(conn: apsw.Connection) -> None:
    """Remove what an interrupted rebuild left: words and vectors that `forget` does not reach."""
    fulltext.drop_staged(conn)
    vectors.drop_staged(conn)


def checkpoint(conn: apsw.Connection) -> None:
    """Move the write-ahead log into the database file and truncate it to nothing.

    Raises
    ------
    StoreDegraded
        A reader held an old state for longer than the busy time-out.
    """
    row: Any = conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if row[0]:
        raise StoreDegraded(
            "a long read kept the write-ahead log from being emptied: try again when it has ended"
        )


def _count(conn: apsw.Connection, table: str) -> int:
    return int(conn.execute(f"SELECT count(*) FROM {table}").get)
