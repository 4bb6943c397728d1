"""Operations that write memories: remember, ingest_markdown, forget."""

from dataclasses import replace
from itertools import compress
from typing import Annotated, Any

import apsw
import msgspec

from brain_daemon.errors import BadRequest, NotFound, TooLarge
from brain_daemon.index.snapshot import Change
from brain_daemon.ingest import prepare
from brain_daemon.model import (
    PreparedDocument,
    Principal,
    Relation,
    SourceKind,
    StoredChunk,
    Tags,
)
from brain_daemon.service import hygiene
from brain_daemon.service.access import check_placing, may_change
from brain_daemon.service.memory import Memory
from brain_daemon.service.operation import Id, Operation
from brain_daemon.service.writer import PutJob, WriteJob
from brain_daemon.store import documents
from brain_daemon.timestamps import now_us, parse_us

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
Label = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
Text = Annotated[str, msgspec.Meta(min_length=1)]
Title = Annotated[str, msgspec.Meta(max_length=1024)]
Uri = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
Stamp = str | int | float
MAX_ENTITIES = 256


class RelationParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    subject: Name
    relation: Name
    object: Name


class TagParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The tags that remember and ingest_markdown share."""

    domain: Label = "default"
    access_scope: Label = "private"
    source: SourceKind | None = None
    node_kind: Label | None = None
    lawful_basis: Label | None = None
    region: Label | None = None
    pii: bool = False
    created_at: Stamp | None = None
    expires_at: Stamp | None = None
    near_duplicates: bool = False
    entities: Annotated[tuple[Name, ...], msgspec.Meta(max_length=MAX_ENTITIES)] = ()
    relations: Annotated[tuple[RelationParams, ...], msgspec.Meta(max_length=MAX_ENTITIES)] = ()


class RememberParams(TagParams, frozen=True, kw_only=True):
    text: Text
    title: Title = ""
    uri: Uri | None = None
    thread: Label | None = None
    seq: Annotated[int, msgspec.Meta(ge=0, le=2**62)] | None = None


class MarkdownParams(TagParams, frozen=True, kw_only=True):
    content: Text
    uri: Uri
    title: Title = ""
    dry_run: bool = False


class ForgetParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    id: Id | None = None
    document_id: Id | None = None
    uri: Uri | None = None


def remember(memory: Memory, params: RememberParams, principal: Principal) -> WriteJob | PutJob:
    """Prepare one text; see docs/protocol.md for the fields."""
    check_placing(principal, params.domain, params.access_scope)
    _check_size(memory, "text", params.text)
    document = prepare.prepare_memory(
        text=params.text,
        title=params.title,
        uri=params.uri,
        tags=_tags(params, principal, "memory", thread=params.thread, seq=params.seq),
        entities=params.entities,
        relations=_relations(params),
        analyzer=memory.analyzer,
        model=memory.model,
        created_at_given=params.created_at is not None,
        screening_policy=memory.settings["screening_policy"],
    )
    hygiene.refuse_rendering(document)
    adds = params.uri or params.thread or params.entities or params.relations or params.created_at
    echo = None if adds else hygiene.find_echo(memory, document, principal)
    return _put(memory, document, principal, params.near_duplicates, echo)


def ingest_markdown(
    memory: Memory, params: MarkdownParams, principal: Principal
) -> WriteJob | PutJob | dict[str, Any]:
    """Prepare one Markdown document; ``dry_run`` only tells what storing it would do."""
    check_placing(principal, params.domain, params.access_scope)
    _check_size(memory, "content", params.content)
    document = prepare.prepare_markdown(
        content=params.content,
        uri=params.uri,
        title=params.title,
        tags=_tags(params, principal, "markdown"),
        entities=params.entities,
        relations=_relations(params),
        analyzer=memory.analyzer,
        model=memory.model,
        created_at_given=params.created_at is not None,
        screening_policy=memory.settings["screening_policy"],
    )
    hygiene.refuse_rendering(document)
    if params.dry_run:
        return _preview(memory, document)
    return _put(memory, document, principal, params.near_duplicates)


def forget(memory: Memory, params: ForgetParams, principal: Principal) -> WriteJob:
    """Remove a chunk (``id``) or a whole document (``document_id`` or ``uri``)."""
    given = [name for name in ("id", "document_id", "uri") if getattr(params, name) is not None]
    if len(given) != 1:
        raise BadRequest(f"forget takes exactly one of id, document_id, uri; {len(given)} given")
    what = f"{given[0]} {getattr(params, given[0])!r}"

    def apply(connection: apsw.Connection) -> tuple[dict[str, Any], list[Change]]:
        found = documents.find(
            connection, chunk_id=params.id, document_id=params.document_id, uri=params.uri
        )
        own = [document for document in found if may_change(principal, document.tags)]
        if not own:
            raise NotFound(f"there is no memory with {what}")
        removals = [
            documents.remove_chunk(connection, params.id)
            if params.id is not None
            else documents.remove(connection, document.id)
            for document in own
        ]
        chunk_ids = [chunk_id for removal in removals for chunk_id in removal.chunk_ids]
        result = {"document_ids": [document.id for document in own], "chunk_ids": chunk_ids}
        return result, [Change.removal(chunk_ids)]

    return WriteJob(apply, frees=True)


def _put(
    memory: Memory,
    document: PreparedDocument,
    principal: Principal,
    report_near: bool,
    echo: StoredChunk | None = None,
) -> WriteJob | PutJob:
    writer = {"uid": principal.uid, "pid": principal.pid, "name": principal.name}
    put = documents.Put(
        document,
        writer,
        now_us(),
        quota_bytes=principal.quota.bytes,
        capacity=memory.capacity,
    )
    near = None  # a search of all vectors, so only where it is asked for
    if report_near:
        near = [] if echo else hygiene.near_duplicates(memory, document, principal)

    def tell(stored: documents.PutResult) -> tuple[dict[str, Any], list[Change]]:
        changes = [] if stored.unchanged else [Change.put(document, stored)]
        record = _put_record(document, stored)
        return record | {"near_duplicates": near, "echo_of": None}, changes

    if echo is None:
        return PutJob(put, tell)

    def apply(connection: apsw.Connection) -> tuple[dict[str, Any], list[Change]]:
        if hygiene.stands(connection, echo):
            same = documents.PutResult(echo.document_id, echo.uri, echo.revision, False, True)
            return _put_record(document, same) | {"near_duplicates": near, "echo_of": echo.id}, []
        return tell(documents.put(connection, *put))

    return WriteJob(apply)


def _preview(memory: Memory, document: PreparedDocument) -> dict[str, Any]:
    tags = document.tags
    for found in documents.find(memory.reader(), uri=document.uri):
        if (found.tags.owner, found.tags.domain) == (tags.owner, tags.domain):
            unchanged = found.content_hash == document.content_hash
            revision = found.revision + (not unchanged)
            put = documents.PutResult(found.id, found.uri, revision, False, unchanged)
            break
    else:
        put = documents.PutResult(0, document.uri or "", 1, created=True, unchanged=False)
    put = replace(put, is_flagged=any(chunk.flagged for chunk in document.chunks))
    return {**_put_record(document, put), "dry_run": True}


def _put_record(document: PreparedDocument, put: documents.PutResult) -> dict[str, Any]:
    return {
        "id": put.document_id,
        "document_id": put.document_id,
        "uri": put.uri,
        "revision": put.revision,
        "created": put.created,
        "unchanged": put.unchanged,
        "flagged": put.is_flagged,
        "flagged_chunk_ids": list(compress(put.chunk_ids, put.flagged)),
        "chunk_ids": put.chunk_ids,
        "removed_chunk_ids": put.removed_chunk_ids,
        "mentions": sum(len(chunk.mentions) for chunk in document.chunks),
        "links": sum(len(chunk.relations) for chunk in document.chunks),
    }


def _tags(
    params: TagParams,
    principal: Principal,
    default_source: SourceKind,
    thread: str | None = None,
    seq: int | None = None,
) -> Tags:
    created, expires = params.created_at, params.expires_at
    return Tags(
        source=params.source or default_source,
        domain=params.domain,
        access_scope=params.access_scope,
        owner=principal.name,
        node_kind=params.node_kind,
        lawful_basis=params.lawful_basis,
        region=params.region,
        pii=params.pii,
        created_at_us=now_us() if created is None else parse_us(created, "created_at"),
        expires_at_us=None if expires is None else parse_us(expires, "expires_at"),
        thread=thread,
        seq=seq,
    )


def _check_size(memory: Memory, field: str, text: str) -> None:
    limit = memory.settings["max_text_bytes"]
    n_bytes = len(text.encode())
    if n_bytes > limit:
        raise TooLarge(
            f"{field} has {n_bytes} bytes, limit {limit}; store it in several documents, or raise "
            "max_text_bytes",
            field=field,
            limit=limit,
        )


def _relations(params: TagParams) -> tuple[Relation, ...]:
    return tuple(Relation(r.subject, r.relation, r.object) for r in params.relations)


def _is_long(memory: Memory, params: RememberParams | MarkdownParams) -> bool:
    text = params.text if isinstance(params, RememberParams) else params.content
    return len(text) > memory.settings["inline_text_bytes"]


OPERATIONS = (
    Operation("remember", RememberParams, remember, "writer", writes=True, heavy=_is_long),
    Operation(
        "ingest_markdown", MarkdownParams, ingest_markdown, "writer", writes=True, heavy=_is_long
    ),
    Operation("forget", ForgetParams, forget, "writer", writes=True, audited=True),
)
