"""Chunks with their terms and vectors: writing, removing, reading back.

Not here: what they mention (`graph`), and who may see them.
"""

import json
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import apsw

from brain_daemon.model import PreparedChunk, StoredChunk, Tags
from brain_daemon.store import copies, fulltext, vectors

_COLUMNS = f"""
    chunk.id, document_id, ordinal, uri, title, revision, text, heading_path, line_start, line_end,
    flagged, source, domain, access_scope, owner, node_kind, lawful_basis, region, pii, created_at,
    expires_at, thread, seq, writer_uid, writer_pid, writer_name, flag_reason,
    {copies.SHARED}
"""
_BY_ID = f"""
    SELECT {_COLUMNS} FROM carray(?) AS asked
    CROSS JOIN chunk ON chunk.id = asked.value
    CROSS JOIN document ON document.id = chunk.document_id
"""
_BY_DOCUMENT = f"""
    SELECT {_COLUMNS} FROM document JOIN chunk ON chunk.document_id = document.id
    WHERE document.id = ? ORDER BY ordinal
"""


Marks = tuple[str, str, str | None]


class Placed(NamedTuple):
    """A chunk with its place in the store."""

    id: int
    document_id: int
    ordinal: int
    previous_id: int | None
    chunk: PreparedChunk
    vector: tuple[bytes, float]  # as `vectors.encode` gives it
    is_flagged: bool
    copy_hash: int


def insert(conn: apsw.Connection, placed: Sequence[Placed]) -> None:
    """Write chunks, their terms and their vectors."""
    conn.executemany(
        "INSERT INTO chunk(id, document_id, ordinal, previous_id, line_start, line_end, "
        "heading_path, text, flagged, flag_reason, copy_hash) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                id_,
                document_id,
                ordinal,
                previous_id,
                chunk.line_start,
                chunk.line_end,
                heading_path(chunk),
                chunk.text,
                int(is_flagged),
                chunk.flag_reason,
                copy_hash,
            )
            for id_, document_id, ordinal, previous_id, chunk, _, is_flagged, copy_hash in placed
        ],
    )
    terms = [(each.id, each.chunk.terms) for each in placed]
    conn.executemany(fulltext.INSERT, [(id_, t.title, t.body, t.extra) for id_, t in terms])
    conn.executemany(vectors.INSERT, [(each.id, *each.vector) for each in placed])


def delete(conn: apsw.Connection, ids: Sequence[int]) -> None:
    """Remove chunks, their terms and their vectors; mentions and edges have left before."""
    asked = apsw.carray(array("q", ids))
    conn.execute("DELETE FROM chunk_fts WHERE rowid IN carray(?)", (asked,))
    conn.executemany("DELETE FROM chunk_vec WHERE rowid = ?", [(id_,) for id_ in ids])
    conn.execute("DELETE FROM chunk WHERE id IN carray(?)", (asked,))


def ids_of(conn: apsw.Connection, document_id: int) -> list[int]:
    """Give the ids of a document's chunks, ascending."""
    rows = conn.execute("SELECT id FROM chunk WHERE document_id = ? ORDER BY id", (document_id,))
    return [row[0] for row in rows]


def heading_path(chunk: PreparedChunk) -> str:
    """Give a heading path as it is stored."""
    return json.dumps(chunk.heading_path, ensure_ascii=False) if chunk.heading_path else "[]"


def marks(chunk: PreparedChunk) -> Marks:
    """Give what a release from quarantine is about: it holds for a chunk with the same."""
    return chunk.text, heading_path(chunk), chunk.flag_reason


def released(conn: apsw.Connection, document_id: int) -> set[Marks]:
    """Give the marks of a document's chunks that were released from quarantine."""
    rows = conn.execute(
        "SELECT text, heading_path, flag_reason FROM chunk "
        "WHERE document_id = ? AND NOT flagged AND flag_reason IS NOT NULL",
        (document_id,),
    )
    return set(rows)


def fetch(conn: apsw.Connection, ids: Sequence[int]) -> list[StoredChunk]:
    """Give chunks by id, in the order asked; missing ones are skipped.

    Parameters
    ----------
    conn : apsw.Connection
    ids : sequence of int
        Chunk ids; an id asked twice comes twice.

    Returns
    -------
    list of StoredChunk
    """
    if not len(ids):
        return []
    rows = conn.execute(_BY_ID, (apsw.carray(array("q", ids)),))
    found = {row[0]: _chunk(row) for row in rows}
    return [found[chunk_id] for chunk_id in ids if chunk_id in found]


def texts(conn: apsw.Connection, ids: Sequence[int]) -> list[tuple[Any, ...]]:
    """Give what chunks say: (id, text, title, each heading above it), in no special order."""
    statement = """
        SELECT chunk.id, text, title, heading_path FROM carray(?) AS asked
        CROSS JOIN chunk ON chunk.id = asked.value
        CROSS JOIN document ON document.id = chunk.document_id
    """
    return [
        (*said, *(() if path == "[]" else json.loads(path)))
        for *said, path in conn.execute(statement, (apsw.carray(array("q", ids)),))
    ]


def of_document(conn: apsw.Connection, document_id: int) -> list[StoredChunk]:
    """Give a document's chunks in their order in the text."""
    return [_chunk(row) for row in conn.execute(_BY_DOCUMENT, (document_id,))]


def _chunk(row: Sequence[Any]) -> StoredChunk:
    (
        chunk_id, document_id, ordinal, uri, title, revision, text, heading_path, line_start,
        line_end, flagged, source, domain, access_scope, owner, node_kind, lawful_basis, region,
        pii, created_at, expires_at, thread, seq, uid, pid, name, flag_reason,
        copy_hash,
    ) = row  # fmt: skip
    return StoredChunk(
        chunk_id,
        document_id,
        ordinal,
        uri,
        title,
        revision,
        text,
        () if heading_path == "[]" else tuple(json.loads(heading_path)),
        line_start,
        line_end,
        Tags(
            source, domain, access_scope, owner, node_kind, lawful_basis, region, bool(pii),
            created_at, expires_at, thread, seq,
        ),
        {"uid": uid, "pid": pid, "name": name},
        bool(flagged),
        flag_reason,
        copy_hash,
    )  # fmt: skip
