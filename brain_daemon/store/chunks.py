"""Reading chunks back. Not here: who may see them."""

import json
from array import array
from collections.abc import Sequence
from typing import Any

import apsw

from brain_daemon.model import StoredChunk, Tags
from brain_daemon.store import copies

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
