"""Chunks in quarantine: listing them, putting them there later, letting them out, removing them,
and who did so.

A chunk in quarantine is stored whole, with its terms, vector and links, so that a release need
not derive anything. Not here: what is put there and why, and who may look.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import apsw
from msgspec.structs import replace

from brain_daemon.model import StoredChunk
from brain_daemon.store import chunks, documents
from brain_daemon.store.documents import Removal


class QuarantineEvent(NamedTuple):
    """A decision about a chunk; the log keeps it when the chunk has gone."""

    id: int
    at_us: int
    action: str  # "hold", "release" or "delete"
    chunk_id: int
    document_id: int
    reason: str  # why the chunk was there
    actor_uid: int
    actor_pid: int
    actor_name: str


def page(conn: apsw.Connection, after: int = 0, limit: int = 100) -> list[StoredChunk]:
    """Give the next chunks in quarantine, by id, ids above ``after`` only."""
    rows = conn.execute(
        "SELECT id FROM chunk WHERE flagged AND id > ? ORDER BY id LIMIT ?", (after, limit)
    )
    return chunks.fetch(conn, [row[0] for row in rows])


def count(conn: apsw.Connection) -> int:
    """Give how many chunks are in quarantine."""
    return int(conn.execute("SELECT count(*) FROM chunk WHERE flagged").get)


def hold(
    conn: apsw.Connection, chunk_id: int, reason: str, actor: Mapping[str, Any], at_us: int
) -> bool:
    """Put a stored chunk into quarantine; False if it has gone, is there or was ever released."""
    chunk = next(iter(chunks.fetch(conn, [chunk_id])), None)
    if chunk is None or chunk.flag_reason is not None:
        return False
    _record(conn, "hold", replace(chunk, flag_reason=reason), actor, at_us)
    conn.execute("UPDATE chunk SET flagged = 1, flag_reason = ? WHERE id = ?", (reason, chunk_id))
    return True


def release(
    conn: apsw.Connection, chunk_id: int, actor: Mapping[str, Any], at_us: int
) -> StoredChunk | None:
    """Let a chunk out; its reason stays with it.

    Returns
    -------
    StoredChunk or None
        The chunk as it was; None if no chunk of that id is in quarantine.
    """
    chunk = _find(conn, chunk_id)
    if chunk is not None:
        _record(conn, "release", chunk, actor, at_us)
        conn.execute("UPDATE chunk SET flagged = 0 WHERE id = ?", (chunk_id,))
    return chunk


def delete(
    conn: apsw.Connection, chunk_id: int, actor: Mapping[str, Any], at_us: int
) -> Removal | None:
    """Remove a chunk for good, and its document with the last one; None as in `release`."""
    chunk = _find(conn, chunk_id)
    if chunk is None:
        return None
    _record(conn, "delete", chunk, actor, at_us)
    return documents.remove_chunk(conn, chunk_id)


def events(conn: apsw.Connection, after: int = 0, limit: int = 100) -> list[QuarantineEvent]:
    """Give the next decisions, the oldest first, ids above ``after`` only."""
    rows = conn.execute(
        "SELECT id, at, action, chunk_id, document_id, reason, actor_uid, actor_pid, actor_name "
        "FROM quarantine_event WHERE id > ? ORDER BY id LIMIT ?",
        (after, limit),
    )
    return [QuarantineEvent(*row) for row in rows]


def _find(conn: apsw.Connection, chunk_id: int) -> StoredChunk | None:
    return next((chunk for chunk in chunks.fetch(conn, [chunk_id]) if chunk.flagged), None)


def _record(
    conn: apsw.Connection, action: str, chunk: StoredChunk, actor: Mapping[str, Any], at_us: int
) -> None:
    conn.execute(
        "INSERT INTO quarantine_event(at, action, chunk_id, document_id, reason, actor_uid, "
        "actor_pid, actor_name) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            at_us,
            action,
            chunk.id,
            chunk.document_id,
            chunk.flag_reason or "",
            actor["uid"],
            actor["pid"],
            actor["name"],
        ),
    )
