"""Documents: storing a new one, a new revision or nothing; finding, removing.

A document is named by (uri, owner, domain). ``put`` and ``remove`` run inside the caller's
transaction and report what changed, so that the resident index can follow without reading back.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import apsw

from brain_daemon.errors import CapacityExceeded, QuotaExceeded
from brain_daemon.model import PreparedDocument, Tags
from brain_daemon.store import chunks, copies, graph, usage, vectors
from brain_daemon.store.capacity import UNBOUNDED, Capacity

FORGOTTEN_HASH = bytes(32)  # of a document that lost a chunk: no text has it


Refusal = ValueError | QuotaExceeded | CapacityExceeded


class Put(NamedTuple):
    """A document that is to be stored.

    Attributes
    ----------
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
    """

    document: PreparedDocument
    writer: Mapping[str, Any]
    stored_at_us: int
    first_revision: int = 1
    quota_bytes: int | None = None
    capacity: Capacity = UNBOUNDED


@dataclass(frozen=True, slots=True)
class PutResult:
    """What was done; the lists after ``removed_entity_ids`` run parallel to the chunks."""

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
    """Store a document: new, unchanged (the same hash), or as the next revision.

    A revision keeps the document's id; its old chunks leave every table and its new ones get new
    ids. ``uri`` None stores a new document and names it ``memory:<id>``, unless one so named has
    the same hash; in a thread the same words twice are two turns. A chunk that was released
    from quarantine stays so in the next revision if nothing about it changed.

    Parameters
    ----------
    conn : apsw.Connection
        Inside a transaction (a savepoint, if one refusal must not undo its neighbours).
    document, writer, stored_at_us, first_revision, quota_bytes, capacity
        See `Put`.

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
    (result,) = put_many(
        conn, [Put(document, writer, stored_at_us, first_revision, quota_bytes, capacity)]
    )
    if isinstance(result, Exception):
        raise result
    return result


def put_many(conn: apsw.Connection, puts: Iterable[Put]) -> list[PutResult | Refusal]:
    """Store documents as `put` would one after the other, by much fewer statements.

    Returns
    -------
    list
        For each document what `put` would return or, having written nothing of it, raise. New
        entities stand with the first document of those that were written together.
    """
    results: list[PutResult | Refusal] = []
    for part in _independent(puts):
        found = zip(part, _find_same(conn, part), strict=True)
        for is_alone, group in groupby(found, key=_is_alone):
            for together in ([each] for each in group) if is_alone else [list(group)]:
                results += _store(conn, together)
    return results


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
    return chunks.ids_of(conn, document_id)


def remove(conn: apsw.Connection, document_id: int) -> Removal:
    """Remove a document and all that hangs on it; unknown ids remove nothing."""
    chunk_ids = chunks.ids_of(conn, document_id)
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
    if chunks.ids_of(conn, document_id) == [chunk_id]:
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
_SAME = (
    "SELECT owner, domain, id, uri, revision, content_hash, title, n_bytes, EXISTS (SELECT 1 "
    "FROM chunk WHERE document_id = document.id AND flagged) FROM carray(?) CROSS JOIN document"
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


class _Same(NamedTuple):
    """The stored document that a given one repeats or revises."""

    id: int
    uri: str
    revision: int
    content_hash: bytes
    title: str
    n_bytes: int
    is_flagged: int


class _Task(NamedTuple):
    """A document that is written, and what it replaces."""

    put: Put
    revised: _Same | None
    n_bytes: int
    vectors: list[tuple[bytes, float]]


_Key = tuple[str | bytes, str, str]


def _key(document: PreparedDocument) -> _Key | None:
    """How its like is found: by uri or hash, owner and domain; None for a turn without a uri."""
    tags = document.tags
    if document.uri is None and tags.thread is not None:
        return None
    return document.uri or document.content_hash, tags.owner, tags.domain


def _independent(puts: Iterable[Put]) -> Iterator[list[Put]]:
    """Cut documents, in their order, into parts in which none matters to another."""
    part: list[Put] = []
    seen: set[object] = set()
    for put in puts:
        document, tags = put.document, put.document.tags
        names: set[object] = set()
        if (key := _key(document)) is not None:
            names.add(key)
        if tags.thread is not None:
            names.add(("thread", tags.thread, tags.owner, tags.domain))
        # The store gives such names, too.
        is_alone = document.uri is not None and document.uri.startswith("memory:")
        if part and (is_alone or not names.isdisjoint(seen)):
            yield part
            part, seen = [], set()
        part.append(put)
        seen |= names
        if is_alone:
            yield part
            part, seen = [], set()
    if part:
        yield part


def _find_same(conn: apsw.Connection, puts: Sequence[Put]) -> list[_Same | None]:
    """Find what was stored under the uri; without one, the first under a given name and hash."""
    keys = [_key(put.document) for put in puts]
    found: dict[_Key | None, _Same] = {}
    # As bytes, because an array for SQLite takes no text with a NUL in it.
    uris = [key[0].encode() for key in keys if key and isinstance(key[0], str)]
    if uris:
        asked = f"{_SAME} WHERE uri = CAST(value AS TEXT)"
        for owner, domain, *columns in conn.execute(asked, (apsw.carray(tuple(uris)),)):
            same = _Same(*columns)
            found[same.uri, owner, domain] = same
    hashes = [key[0] for key in keys if key and isinstance(key[0], bytes)]
    if hashes:
        asked = (
            f"{_SAME} WHERE content_hash = value AND thread IS NULL AND uri = 'memory:' || id "
            "ORDER BY id DESC"
        )
        for owner, domain, *columns in conn.execute(asked, (apsw.carray(tuple(hashes)),)):
            same = _Same(*columns)
            found[same.content_hash, owner, domain] = same
    return [found.get(key) for key in keys]


def _is_alone(found: tuple[Put, _Same | None]) -> bool:
    """Whether a document is written alone.

    What a revision leaves without support is gone before the next document names it, and what was
    written is seen before the next one is held against the bounds of the store.
    """
    put, same = found
    return same is not None or put.capacity != UNBOUNDED


def _store(
    conn: apsw.Connection, puts: Sequence[tuple[Put, _Same | None]]
) -> list[PutResult | Refusal]:
    """Store new documents, or one that there was before."""
    pending: Counter[str] = Counter()
    judged = [_judge(conn, put, same, pending) for put, same in puts]
    written = iter(_write(conn, [task for task in judged if isinstance(task, _Task)]))
    return [next(written) if isinstance(task, _Task) else task for task in judged]


def _judge(
    conn: apsw.Connection, put: Put, same: _Same | None, pending: Counter[str]
) -> _Task | PutResult | Refusal:
    """Tell whether a document is to be written; ``pending`` are the bytes that others add."""
    document, owner = put.document, put.document.tags.owner
    if same is not None and same.content_hash == document.content_hash != FORGOTTEN_HASH:
        is_flagged = bool(same.is_flagged)
        return PutResult(same.id, same.uri, same.revision, False, True, is_flagged=is_flagged)
    n_bytes = usage.charge(document)
    added = n_bytes - (same.n_bytes if same else 0)
    try:
        if not document.chunks:
            raise ValueError("a document without chunks is not stored")
        blobs = [vectors.encode(chunk.vector, chunk.scale) for chunk in document.chunks]
        if put.quota_bytes is not None:
            usage.check(conn, owner, added, put.quota_bytes, pending[owner])
        if put.capacity != UNBOUNDED:
            n_before = len(chunks.ids_of(conn, same.id)) if same else 0
            put.capacity.check(conn, len(document.chunks) - n_before, added)
    except (ValueError, QuotaExceeded, CapacityExceeded) as refusal:
        return refusal
    pending[owner] += added
    return _Task(put, same, n_bytes, blobs)


def _row(task: _Task) -> tuple[Any, ...]:
    document, writer, tags = task.put.document, task.put.writer, task.put.document.tags
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
        task.put.stored_at_us,
        task.n_bytes,
    )


def _write(conn: apsw.Connection, tasks: Sequence[_Task]) -> list[PutResult]:
    """Write new documents, or one revision: a statement a table."""
    if not tasks:
        return []
    sequence = dict(conn.execute("SELECT name, seq FROM sqlite_sequence"))
    removed: list[int] = []
    touched: list[int] = []
    released: set[chunks.Marks] = set()
    if (revised := tasks[0].revised) is None:
        names = _insert(conn, tasks, sequence.get("document", 0) + 1)
    else:
        if revised.title == tasks[0].put.document.title:
            released = chunks.released(conn, revised.id)
        removed = chunks.ids_of(conn, revised.id)
        touched = _delete_chunks(conn, removed)
        conn.execute(_UPDATE, (*_row(tasks[0]), revised.id))
        names = [(revised.id, revised.uri, revised.revision + 1)]
    added: Counter[str] = Counter()
    for task in tasks:
        added[task.put.document.tags.owner] += task.n_bytes - (revised.n_bytes if revised else 0)
    for owner, n_bytes in added.items():
        usage.add(conn, owner, n_bytes)

    placed: list[chunks.Placed] = []
    next_id = sequence.get("chunk", 0) + 1
    for task, (document_id, _, _) in zip(tasks, names, strict=True):
        document = task.put.document
        previous_id = _thread_end(conn, document_id, document.tags)
        parts = zip(document.chunks, task.vectors, strict=True)
        for ordinal, (chunk, vector) in enumerate(parts):
            is_flagged = chunk.flagged and chunks.marks(chunk) not in released
            copy_hash = copies.hash_of(*copies.identity(chunk.text, document.tags))
            place = (next_id, document_id, ordinal, previous_id)
            placed.append(chunks.Placed(*place, chunk, vector, is_flagged, copy_hash))
            previous_id, next_id = next_id, next_id + 1
    prepared = [each.chunk for each in placed]
    entities, created = graph.intern(conn, prepared, sequence.get("entity", 0) + 1)
    chunks.insert(conn, placed)
    mentioned, edges = graph.link(conn, [each.id for each in placed], prepared, entities)
    removed_entity_ids = graph.prune(conn, touched)

    results: list[PutResult] = []
    by_document = groupby(placed, key=attrgetter("document_id"))
    for (document_id, uri, revision), (_, group) in zip(names, by_document, strict=True):
        own = list(group)
        ids = [each.id for each in own]
        flagged = [each.is_flagged for each in own]
        results.append(
            PutResult(
                document_id=document_id,
                uri=uri,
                revision=revision,
                created=revised is None,
                unchanged=False,
                chunk_ids=ids,
                removed_chunk_ids=removed,
                removed_entity_ids=removed_entity_ids,
                previous_ids=[each.previous_id for each in own],
                entity_ids=[mentioned[id_] for id_ in ids],
                edges=[edge for id_ in ids for edge in edges.get(id_, ())],
                new_entities=[] if results else created,
                flagged=flagged,
                is_flagged=any(flagged),
            )
        )
    return results


def _insert(
    conn: apsw.Connection, tasks: Sequence[_Task], first_id: int
) -> list[tuple[int, str, int]]:
    """Insert the rows of new documents; give the id, uri and revision of each."""
    while True:
        named = [
            (id_, task.put.document.uri or f"memory:{id_}", task.put.first_revision)
            for id_, task in enumerate(tasks, first_id)
        ]
        given = {
            (uri, task.put.document.tags.owner, task.put.document.tags.domain)
            for task, (_, uri, _) in zip(tasks, named, strict=True)
            if task.put.document.uri is None
        }
        if not given or given.isdisjoint(
            conn.execute(
                "SELECT uri, owner, domain FROM carray(?) CROSS JOIN document ON uri = value",
                (apsw.carray(tuple(uri for uri, _, _ in given)),),
            )
        ):
            break
        first_id += 1  # an import brought a document of that name: this id is skipped
    rows = zip(tasks, named, strict=True)
    conn.executemany(
        _INSERT, [(*_row(task), revision, id_, uri) for task, (id_, uri, revision) in rows]
    )
    return named


def _delete_chunks(conn: apsw.Connection, chunk_ids: Sequence[int]) -> list[int]:
    """Take chunks out of every table; give the entities that may have lost their support."""
    if not chunk_ids:
        return []
    touched = graph.unlink(conn, chunk_ids)
    chunks.delete(conn, chunk_ids)
    return touched


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
