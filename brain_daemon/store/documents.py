"""Documents: storing a new one, a new revision or nothing; finding, removing.

A document is named by (uri, owner, domain). ``put`` and ``remove`` run inside the caller's
transaction and report what changed, so that the resident index can follow without reading back.
"""

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import apsw
from msgspec.structs import replace

from brain_daemon.model import PreparedChunk, PreparedDocument, Tags
from brain_daemon.store import copies, fulltext, graph, usage, vectors
from brain_daemon.store.capacity import UNBOUNDED, Capacity

FORGOTTEN_HASH = bytes(32)  # of a document that lost a chunk: no text has it


@dataclass(frozen=True, slots=True)
class PutResult:
    """What `put` did; the lists after ``removed_entity_ids`` run parallel to the chunks."""

    document_id: int
    uri: str
    revision: int
    created: bool
    unchanged: bool
    chunk_ids: list[int] = field(default_factory=list)
    removed_chunk_ids: list[int] = field(default_factory=list)
    removed_entity_ids: list[int] = field(default_factory=list)
    previous_ids: list[int | None] = field(default_factory=list)
    entity_ids: list[list[int]] = field(default_factory=list)
    edges: list[graph.Edge] = field(default_factory=list)
    new_entities: list[tuple[int, str, str]] = field(default_factory=list)  # (id, key, name)
    flagged: list[bool] = field(default_factory=list)  # parallel to the chunks
    is_flagged: bool = False  # a chunk of the stored document is in quarantine


@dataclass(frozen=True, slots=True)
class Removal:
    """What left the store, ids ascending."""

    chunk_ids: list[int]
    entity_ids: list[int]


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document without its text."""

    id: int
    uri: str
    revision: int
    title: str
    content_hash: bytes
    tags: Tags
    writer: dict[str, Any]
    stored_at_us: int


def put(
    conn: apsw.Connection,
    document: PreparedDocument,
    writer: Mapping[str, Any],
    stored_at_us: int,
    first_revision: int = 1,
    quota_bytes: int | None = None,
    capacity: Capacity = UNBOUNDED,
) -> PutResult:
    """Store a document: new, unchanged (the same hash: one SELECT), or as the next revision.

    A revision keeps the document's id; its old chunks leave every table and its new ones get new
    ids. ``uri`` None stores a new document and names it ``memory:<id>``, unless one so named has
    the same hash; in a thread the same words twice are two turns. A chunk that was released
    from quarantine stays so in the next revision if nothing about it changed.

    Parameters
    ----------
    conn : apsw.Connection
        Inside a transaction (a savepoint, if one refusal must not undo its neighbours).
    document : PreparedDocument
    writer : mapping
        ``uid``, ``pid`` and ``name`` from the peer's credentials.
    stored_at_us : int
        UTC microseconds since the epoch.
    first_revision : int
        Of a new document; an import carries on the count.
    quota_bytes : int, optional
        What its owner may have stored at most, as `usage.charge` counts.
    capacity : Capacity, optional
        What the store may hold at most.

    Returns
    -------
    PutResult
        When ``unchanged``, every list is empty and nothing was written.

    Raises
    ------
    ValueError
        The document has no chunk, or a vector is not int8; before anything was written.
    QuotaExceeded
        Its owner would have more stored than ``quota_bytes``; before anything was written.
    CapacityExceeded
        The store would hold more than ``capacity``; before anything was written.
    """
    if not document.chunks:
        raise ValueError("a document without chunks is not stored")
    tags = document.tags
    if document.uri is None and tags.thread is None:
        document = replace(document, uri=_uri_of_same(conn, document))
    found = None
    if document.uri is not None:
        found = conn.execute(
            "SELECT id, uri, revision, content_hash, title, EXISTS (SELECT 1 FROM chunk "
            "WHERE document_id = document.id AND flagged), n_bytes FROM document "
            "WHERE uri = ? AND owner = ? AND domain = ?",
            (document.uri, tags.owner, tags.domain),
        ).fetchone()
        if found is not None and found[3] == document.content_hash != FORGOTTEN_HASH:
            return PutResult(
                found[0],
                found[1],
                found[2],
                created=False,
                unchanged=True,
                is_flagged=bool(found[5]),
            )

    sequence = dict(conn.execute("SELECT name, seq FROM sqlite_sequence"))
    stored_vectors = [vectors.encode(chunk.vector, chunk.scale) for chunk in document.chunks]
    n_bytes = usage.charge(document)
    added = n_bytes - (found[6] if found else 0)
    if quota_bytes is not None:
        usage.check(conn, tags.owner, added, quota_bytes)
    if capacity is not UNBOUNDED:
        n_before = len(_chunk_ids(conn, found[0])) if found else 0
        capacity.check(conn, len(document.chunks) - n_before, added)
    row = _row(document, writer, stored_at_us, n_bytes)
    removed: list[int] = []
    touched: list[int] = []
    flagged = [chunk.flagged for chunk in document.chunks]
    if any(flagged) and found is not None and found[4] == document.title:
        released = _released(conn, found[0])
        flagged = [chunk.flagged and _marks(chunk) not in released for chunk in document.chunks]
    if found is None:
        revision = first_revision
        document_id, uri = _insert(
            conn, document.uri, sequence.get("document", 0) + 1, (*row, revision)
        )
    else:
        document_id, uri, revision = found[0], found[1], found[2] + 1
        removed = _chunk_ids(conn, document_id)
        touched = _delete_chunks(conn, removed)
        conn.execute(_UPDATE, (*row, document_id))
    usage.add(conn, tags.owner, added)

    first_id = sequence.get("chunk", 0) + 1
    chunk_ids = list(range(first_id, first_id + len(document.chunks)))
    previous_ids = [_thread_end(conn, document_id, tags), *chunk_ids[:-1]]
    ids, created = graph.intern(conn, document.chunks, sequence.get("entity", 0) + 1)
    _insert_chunks(conn, document_id, chunk_ids, previous_ids, document, flagged)
    conn.executemany(
        vectors.INSERT,
        [(id_, *stored) for id_, stored in zip(chunk_ids, stored_vectors, strict=True)],
    )
    entity_ids, edges = graph.link(conn, chunk_ids, document.chunks, ids)
    return PutResult(
        document_id=document_id,
        uri=uri,
        revision=revision,
        created=found is None,
        unchanged=False,
        chunk_ids=chunk_ids,
        removed_chunk_ids=removed,
        removed_entity_ids=graph.prune(conn, touched),
        previous_ids=previous_ids,
        entity_ids=entity_ids,
        edges=edges,
        new_entities=created,
        flagged=flagged,
        is_flagged=any(flagged),
    )


def find(
    conn: apsw.Connection,
    *,
    uri: str | None = None,
    document_id: int | None = None,
    chunk_id: int | None = None,
) -> list[StoredDocument]:
    """Give the documents with this uri (one for each owner and domain), id or chunk.

    Exactly one is to be given. By id ascending; empty when there is none. Whether the caller may
    see them is not asked here.
    """
    value: str | int | None
    if document_id is not None:
        where, value = "id = ?", document_id
    elif chunk_id is not None:
        where, value = "id = (SELECT document_id FROM chunk WHERE id = ?)", chunk_id
    else:
        where, value = "uri = ?", uri
    rows = conn.execute(f"{_SELECT} WHERE {where} ORDER BY id", (value,))
    return [_document(row) for row in rows]


class ListedDocument(NamedTuple):
    document: StoredDocument
    n_chunks: int


def page(
    conn: apsw.Connection, owner: str, *, uri_prefix: str = "", after: int = 0, limit: int = 1000
) -> list[ListedDocument]:
    """Give an owner's next documents whose uri starts so, by id, ids above ``after`` only."""
    rows = conn.execute(
        f"{_SELECT} WHERE owner = ?1 AND id > ?2 AND substr(uri, 1, length(?3)) = ?3 "
        "ORDER BY id LIMIT ?4",
        (owner, after, uri_prefix, limit),
    )
    listed = [_document(row) for row in rows]
    counted = dict(
        conn.execute(
            "SELECT document_id, count(*) FROM chunk WHERE document_id IN carray(?) GROUP BY 1",
            (apsw.carray(array("q", [document.id for document in listed])),),
        )
        if listed
        else ()
    )
    return [ListedDocument(document, counted.get(document.id, 0)) for document in listed]


def set_expiry(conn: apsw.Connection, document_id: int, expires_at_us: int | None) -> list[int]:
    """Let a document expire at another instant, or never; give its chunks.

    Its hash stays: the same content stored again is unchanged and keeps the new expiry.
    """
    conn.execute("UPDATE document SET expires_at = ? WHERE id = ?", (expires_at_us, document_id))
    return _chunk_ids(conn, document_id)


def remove(conn: apsw.Connection, document_id: int) -> Removal:
    """Remove a document and all that hangs on it; unknown ids remove nothing."""
    chunk_ids = _chunk_ids(conn, document_id)
    touched = _delete_chunks(conn, chunk_ids)
    for gone in conn.execute(
        "DELETE FROM document WHERE id = ? RETURNING owner, -n_bytes", (document_id,)
    ):
        usage.add(conn, *gone)
    return Removal(chunk_ids, graph.prune(conn, touched))


def remove_chunk(conn: apsw.Connection, chunk_id: int) -> Removal:
    """Remove one chunk, and its document with the last one.

    The document's hash is cleared: the same content stored again is a new revision, whole.
    """
    row = conn.execute(
        "SELECT document_id, owner, n_bytes, octet_length(text) + octet_length(heading_path) "
        "FROM chunk JOIN document ON document.id = document_id WHERE chunk.id = ?",
        (chunk_id,),
    ).fetchone()
    if row is None:
        return Removal([], [])
    document_id, owner, n_charged, n_bytes = row
    if _chunk_ids(conn, document_id) == [chunk_id]:
        return remove(conn, document_id)
    touched = _delete_chunks(conn, [chunk_id])
    freed = min(n_charged, n_bytes + usage.CHUNK_BYTES)
    conn.execute(
        "UPDATE document SET content_hash = ?, n_bytes = n_bytes - ? WHERE id = ?",
        (FORGOTTEN_HASH, freed, document_id),
    )
    usage.add(conn, owner, -freed)
    return Removal([chunk_id], graph.prune(conn, touched))


_COLUMNS = (
    "owner, domain, title, content_hash, source, access_scope, node_kind, lawful_basis, region, "
    "pii, created_at, expires_at, thread, seq, writer_uid, writer_pid, writer_name, stored_at"
)
_WRITTEN = f"{_COLUMNS}, n_bytes"
_INSERT = (
    f"INSERT INTO document({_WRITTEN}, revision, id, uri) "
    f"VALUES ({'?, ' * (_WRITTEN.count(',') + 1)}?, ?, ?)"
)
_UPDATE = (
    f"UPDATE document SET revision = revision + 1, {_WRITTEN.replace(',', ' = ?,')} = ? "
    "WHERE id = ?"
)
_SELECT = f"SELECT id, uri, revision, {_COLUMNS} FROM document"


def _row(
    document: PreparedDocument, writer: Mapping[str, Any], stored_at_us: int, n_bytes: int
) -> tuple[Any, ...]:
    tags = document.tags
    return (
        tags.owner,
        tags.domain,
        document.title,
        document.content_hash,
        tags.source,
        tags.access_scope,
        tags.node_kind,
        tags.lawful_basis,
        tags.region,
        int(tags.pii),
        tags.created_at_us,
        tags.expires_at_us,
        tags.thread,
        tags.seq,
        writer["uid"],
        writer["pid"],
        writer["name"],
        stored_at_us,
        n_bytes,
    )


def _document(row: Sequence[Any]) -> StoredDocument:
    (
        document_id, uri, revision, owner, domain, title, content_hash, source, access_scope,
        node_kind, lawful_basis, region, pii, created_at, expires_at, thread, seq,
        uid, pid, name, stored_at,
    ) = row  # fmt: skip
    tags = Tags(
        source, domain, access_scope, owner, node_kind, lawful_basis, region, bool(pii),
        created_at, expires_at, thread, seq,
    )  # fmt: skip
    writer = {"uid": uid, "pid": pid, "name": name}
    return StoredDocument(document_id, uri, revision, title, content_hash, tags, writer, stored_at)


def _insert(
    conn: apsw.Connection, uri: str | None, document_id: int, row: tuple[Any, ...]
) -> tuple[int, str]:
    if uri is not None:
        conn.execute(_INSERT, (*row, document_id, uri))
        return document_id, uri
    while True:
        uri = f"memory:{document_id}"
        conn.execute(
            f"{_INSERT} ON CONFLICT (uri, owner, domain) DO NOTHING", (*row, document_id, uri)
        )
        if conn.changes():
            return document_id, uri
        document_id += 1  # an import brought a document of that name: this id is skipped


def _insert_chunks(
    conn: apsw.Connection,
    document_id: int,
    chunk_ids: Sequence[int],
    previous_ids: Sequence[int | None],
    document: PreparedDocument,
    flagged: Sequence[bool],
) -> None:
    numbered = list(zip(chunk_ids, document.chunks, strict=True))
    conn.executemany(
        "INSERT INTO chunk(id, document_id, ordinal, previous_id, line_start, line_end, "
        "heading_path, text, flagged, flag_reason, copy_hash) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                chunk_id,
                document_id,
                ordinal,
                previous_id,
                chunk.line_start,
                chunk.line_end,
                _heading_path(chunk),
                chunk.text,
                int(flagged[ordinal]),
                chunk.flag_reason,
                copies.hash_of(*copies.identity(chunk.text, document.tags)),
            )
            for ordinal, ((chunk_id, chunk), previous_id) in enumerate(
                zip(numbered, previous_ids, strict=True)
            )
        ],
    )
    conn.executemany(
        fulltext.INSERT,
        [(id_, c.terms.title, c.terms.body, c.terms.extra) for id_, c in numbered],
    )


def _heading_path(chunk: PreparedChunk) -> str:
    return json.dumps(chunk.heading_path, ensure_ascii=False) if chunk.heading_path else "[]"


def _marks(chunk: PreparedChunk) -> tuple[str, str, str | None]:
    """What a release was about."""
    return chunk.text, _heading_path(chunk), chunk.flag_reason


def _released(conn: apsw.Connection, document_id: int) -> set[tuple[str, str, str | None]]:
    rows = conn.execute(
        "SELECT text, heading_path, flag_reason FROM chunk "
        "WHERE document_id = ? AND NOT flagged AND flag_reason IS NOT NULL",
        (document_id,),
    )
    return set(rows)


def _chunk_ids(conn: apsw.Connection, document_id: int) -> list[int]:
    rows = conn.execute("SELECT id FROM chunk WHERE document_id = ? ORDER BY id", (document_id,))
    return [row[0] for row in rows]


def _delete_chunks(conn: apsw.Connection, chunk_ids: Sequence[int]) -> list[int]:
    """Take chunks out of every table; give the entities that may have lost their support."""
    if not chunk_ids:
        return []
    ids = apsw.carray(array("q", chunk_ids))
    touched = graph.unlink(conn, chunk_ids)
    conn.execute("DELETE FROM chunk_fts WHERE rowid IN carray(?)", (ids,))
    conn.executemany("DELETE FROM chunk_vec WHERE rowid = ?", [(id_,) for id_ in chunk_ids])
    conn.execute("DELETE FROM chunk WHERE id IN carray(?)", (ids,))
    return touched


def _uri_of_same(conn: apsw.Connection, document: PreparedDocument) -> str | None:
    """Find the document that was stored without a uri from the same request, the first of them."""
    row = conn.execute(
        "SELECT uri FROM document WHERE content_hash = ? AND owner = ? AND domain = ? "
        "AND thread IS NULL AND uri = 'memory:' || id ORDER BY id LIMIT 1",
        (document.content_hash, document.tags.owner, document.tags.domain),
    ).fetchone()
    return None if row is None else str(row[0])


def _thread_end(conn: apsw.Connection, document_id: int, tags: Tags) -> int | None:
    """Find the last chunk of the thread's document with the greatest (seq, id) up to this one's.

    A missing ``seq`` counts as 0. Documents stored earlier are not linked anew.
    """
    if tags.thread is None:
        return None
    row = conn.execute(
        "SELECT (SELECT max(id) FROM chunk WHERE document_id = document.id) FROM document "
        "WHERE thread = ?1 AND owner = ?2 AND domain = ?3 "
        "AND (ifnull(seq, 0), id) < (ifnull(?4, 0), ?5) "
        "ORDER BY ifnull(seq, 0) DESC, id DESC LIMIT 1",
        (tags.thread, tags.owner, tags.domain, tags.seq, document_id),
    ).fetchone()
    return None if row is None else row[0]
