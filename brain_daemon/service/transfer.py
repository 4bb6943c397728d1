"""Export and import: whole documents as plain records, one a JSON line in the hands of the CLI.

A record holds what cannot be derived: texts, tags, provenance, entities and relations. Terms and
vectors are derived anew on import, so the receiving store may have another model or language.
"""

from collections import Counter
from typing import Annotated, Any, cast, get_args

import apsw
import msgspec
from msgspec.structs import replace

from brain_daemon.index.snapshot import Change
from brain_daemon.ingest import prepare
from brain_daemon.model import (
    EntityKind,
    Mention,
    PreparedChunk,
    PreparedDocument,
    Principal,
    Relation,
    SourceKind,
    StoredChunk,
    Tags,
)
from brain_daemon.recall.evidence import tags_record
from brain_daemon.service.memory import Memory
from brain_daemon.service.operation import Cursor, Operation, always
from brain_daemon.service.remember import Label, Name, Uri
from brain_daemon.service.writer import WriteJob
from brain_daemon.store import documents, scan
from brain_daemon.store import transfer as stored
from brain_daemon.timestamps import format_us, parse_us

MAX_RECORDS = 1000
PAGE_BYTES = 2 << 20  # of text, after which a page ends: well below the smallest response limit


# Bounds that every export keeps: a record beyond them could not be exported again.
MAX_CHUNK_CHARS = 65_536
Words = Annotated[str, msgspec.Meta(max_length=4096)]
HeadingPath = Annotated[tuple[Words, ...], msgspec.Meta(max_length=64)]
# "kind:name" and not a pair: one entry instead of three against the limit of entries in a message.
MentionText = Annotated[
    str, msgspec.Meta(pattern=f"^({'|'.join(get_args(EntityKind))}):.", max_length=4096)
]
LineNumber = Annotated[int, msgspec.Meta(ge=1, le=2**31)]


class ChunkRecord(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_CHUNK_CHARS)]
    heading_path: HeadingPath
    lines: tuple[LineNumber, LineNumber]
    mentions: tuple[MentionText, ...] = ()
    relations: tuple[tuple[Words, Words, Words], ...] = ()
    flag_reason: Words | None = None  # why it was put in quarantine
    released: bool = False  # and let out again


class WriterRecord(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    uid: Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
    pid: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    name: Name


class DocumentRecord(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One document, on the wire and in a JSON line."""

    uri: Uri
    title: Words
    revision: Annotated[int, msgspec.Meta(ge=1, le=2**62)]
    content_hash: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    stored_at: str
    writer: WriterRecord
    source: SourceKind
    domain: Label
    access_scope: Label
    owner: Name
    node_kind: Label | None
    lawful_basis: Label | None
    region: Label | None
    pii: bool
    created_at: str
    expires_at: str | None
    thread: Label | None
    seq: Annotated[int, msgspec.Meta(ge=0, le=2**62)] | None
    chunks: Annotated[tuple[ChunkRecord, ...], msgspec.Meta(min_length=1)]


class ExportParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    after: Cursor = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_RECORDS)] = MAX_RECORDS


class ImportParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    records: Annotated[tuple[DocumentRecord, ...], msgspec.Meta(max_length=MAX_RECORDS)]


def export(memory: Memory, params: ExportParams, principal: Principal) -> dict[str, Any]:
    """Give the documents that follow, in the order in which importing keeps every tie-break."""
    records: list[dict[str, Any]] = []
    n_bytes = 0
    after = params.after
    reader = memory.reader()
    with scan.frozen(reader):
        for first_chunk_id, document, chunks in stored.iter_documents(reader, after):
            if len(records) == params.limit or n_bytes > PAGE_BYTES:
                return {"records": records, "next": after}
            records.append(_record(document, chunks))
            n_bytes += sum(len(chunk.text) for chunk, _, _ in chunks)
            after = first_chunk_id
    return {"records": records, "next": None}


def import_records(memory: Memory, params: ImportParams, principal: Principal) -> WriteJob:
    """Store exported documents; what is there already, unchanged, stays as it is."""
    prepared = [_prepare(memory, record) for record in params.records]

    def apply(connection: apsw.Connection) -> tuple[dict[str, int], list[Change]]:
        counts = Counter(created=0, updated=0, unchanged=0)
        changes = []
        stored = documents.put_many(
            connection,
            [
                documents.Put(
                    document,
                    msgspec.structs.asdict(record.writer),
                    parse_us(record.stored_at, "stored_at"),
                    first_revision=record.revision,
                    capacity=memory.capacity,
                )
                for record, document in zip(params.records, prepared, strict=True)
            ],
        )
        for document, put in zip(prepared, stored, strict=True):
            if isinstance(put, Exception):
                raise put
            counts["unchanged" if put.unchanged else "created" if put.created else "updated"] += 1
            if not put.unchanged:
                changes.append(Change.put(document, put))
        return dict(counts), changes

    return WriteJob(apply)


def _record(
    document: documents.StoredDocument, chunks: list[stored.ExportedChunk]
) -> dict[str, Any]:
    tags = document.tags
    return {
        "uri": document.uri,
        "title": document.title,
        "revision": document.revision,
        "content_hash": document.content_hash.hex(),
        "stored_at": format_us(document.stored_at_us),
        "writer": document.writer,
        **tags_record(tags),
        "thread": tags.thread,
        "seq": tags.seq,
        "chunks": [
            {
                "text": chunk.text,
                "heading_path": list(chunk.heading_path),
                "lines": [chunk.line_start, chunk.line_end],
                "mentions": [f"{mention.kind}:{mention.name}" for mention in mentions],
                "relations": [[r.subject, r.relation, r.object] for r in relations],
                **_flag_record(chunk),
            }
            for chunk, mentions, relations in chunks
        ],
    }


def _flag_record(chunk: StoredChunk) -> dict[str, Any]:
    """Say of the few chunks that were ever in quarantine why, and whether they were released."""
    if chunk.flag_reason is None:
        return {}
    return {"flag_reason": chunk.flag_reason, "released": not chunk.flagged}


def _prepare(memory: Memory, record: DocumentRecord) -> PreparedDocument:
    embedded = prepare.embed(
        memory.model, [(record.title, chunk.heading_path, chunk.text) for chunk in record.chunks]
    )
    expires = record.expires_at
    document = PreparedDocument(
        uri=record.uri,
        title=record.title,
        content_hash=bytes.fromhex(record.content_hash),
        tags=Tags(
            source=record.source,
            domain=record.domain,
            access_scope=record.access_scope,
            owner=record.owner,
            node_kind=record.node_kind,
            lawful_basis=record.lawful_basis,
            region=record.region,
            pii=record.pii,
            created_at_us=parse_us(record.created_at, "created_at"),
            expires_at_us=None if expires is None else parse_us(expires, "expires_at"),
            thread=record.thread,
            seq=record.seq,
        ),
        chunks=tuple(
            PreparedChunk(
                text=chunk.text,
                heading_path=chunk.heading_path,
                line_start=chunk.lines[0],
                line_end=chunk.lines[1],
                terms=prepare.terms_of(
                    memory.analyzer, record.title, chunk.heading_path, chunk.text
                ),
                vector=vector,
                scale=scale,
                mentions=tuple(_mention(text) for text in chunk.mentions),
                relations=tuple(Relation(*relation) for relation in chunk.relations),
            )
            for chunk, (vector, scale) in zip(record.chunks, embedded, strict=True)
        ),
    )
    # Screened like any other write, but what the record says of its flags comes first.
    policy = memory.settings["screening_policy"]
    if policy == "reject" and any(chunk.flag_reason is not None for chunk in record.chunks):
        policy = "quarantine"  # it was decided upon once
    looked_at = prepare.screened(document, policy)
    flags = zip(record.chunks, looked_at.chunks, strict=True)
    return replace(looked_at, chunks=tuple(_with_flag(stated, chunk) for stated, chunk in flags))


def _with_flag(record: ChunkRecord, chunk: PreparedChunk) -> PreparedChunk:
    if record.flag_reason is None:
        return chunk
    return replace(chunk, flagged=not record.released, flag_reason=record.flag_reason)


def _mention(text: str) -> Mention:
    kind, _, name = text.partition(":")
    return Mention(name, cast(EntityKind, kind))


OPERATIONS = (
    Operation("export", ExportParams, export, "admin", audited=True, heavy=always),
    Operation(
        "import", ImportParams, import_records, "admin", writes=True, audited=True, heavy=always
    ),
)
