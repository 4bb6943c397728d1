"""Operations on chunks in quarantine: listing, releasing, deleting, and screening what is stored.

A chunk is there because `ingest.screening` took it for an order to a model. It is in no answer
until an operator releases it. Operators see where such chunks stand and why; their text is for
their owner and for admins.
"""

import logging
from typing import Annotated, Any

import apsw
import msgspec

from brain_daemon.errors import NotFound
from brain_daemon.index.snapshot import Change
from brain_daemon.ingest import prepare
from brain_daemon.model import Principal, StoredChunk
from brain_daemon.recall.evidence import tags_record
from brain_daemon.service.access import may_change
from brain_daemon.service.memory import Memory
from brain_daemon.service.operation import Cursor, Id, Operation, always
from brain_daemon.service.writer import WriteJob
from brain_daemon.store import quarantine as stored
from brain_daemon.store import transfer as stored_chunks
from brain_daemon.timestamps import format_us, now_us

log = logging.getLogger(__name__)

MAX_PAGE = 1000


class QuarantineListParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    after: Cursor = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE)] = 100


class ScreenParams(QuarantineListParams, frozen=True):
    dry_run: bool = False


class QuarantineParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    id: Id


def list_chunks(
    memory: Memory, params: QuarantineListParams, principal: Principal
) -> dict[str, Any]:
    """List what is held back, by chunk id, a page at a time."""
    page = stored.page(memory.reader(), params.after, params.limit)
    return {
        "chunks": [_record(chunk, principal) for chunk in page],
        "next": page[-1].id if len(page) == params.limit else None,
        "n_quarantined": stored.count(memory.reader()),
    }


def release(memory: Memory, params: QuarantineParams, principal: Principal) -> WriteJob:
    """Let a chunk out; recall finds it from the answer on."""

    def apply(connection: apsw.Connection) -> tuple[dict[str, Any], list[Change]]:
        chunk = stored.release(connection, params.id, _actor(principal), now_us())
        if chunk is None:
            raise _not_there(params.id)
        log.info("quarantine: %s released chunk %d", principal.name, params.id)
        result = {"id": chunk.id, "document_id": chunk.document_id, "reason": chunk.flag_reason}
        return result, [Change.release(chunk.id)]

    return WriteJob(apply)


def delete(memory: Memory, params: QuarantineParams, principal: Principal) -> WriteJob:
    """Remove a chunk from the store, and its document with the last one."""

    def apply(connection: apsw.Connection) -> tuple[dict[str, Any], list[Change]]:
        removal = stored.delete(connection, params.id, _actor(principal), now_us())
        if removal is None:
            raise _not_there(params.id)
        log.info("quarantine: %s deleted chunk %d", principal.name, params.id)
        return {"chunk_ids": removal.chunk_ids}, [Change.removal(removal.chunk_ids)]

    return WriteJob(apply, frees=True)


def screen(memory: Memory, params: ScreenParams, principal: Principal) -> WriteJob | dict[str, Any]:
    """Screen the next stored chunks, whatever the policy: after it or the rules have changed.

    What was ever released stays so.
    """
    page = stored_chunks.unheld(memory.reader(), params.after, params.limit)
    found: list[dict[str, Any]] = []
    for chunk, mentions, relations in page:
        shared = prepare.beside(chunk.title, chunk.uri, chunk.tags)
        reason = prepare.order_in(chunk.text, shared, chunk.heading_path, mentions, relations)
        if reason:
            found.append({"id": chunk.id, "document_id": chunk.document_id, "reason": reason})
    result = {
        "screened": len(page),
        "chunks": found,
        "next": page[-1].chunk.id if len(page) == params.limit else None,
    }
    if params.dry_run or not found:
        return result

    def apply(connection: apsw.Connection) -> tuple[dict[str, Any], list[Change]]:
        actor, now = _actor(principal), now_us()
        held = [of for of in found if stored.hold(connection, of["id"], of["reason"], actor, now)]
        log.info("quarantine: %s had %d chunks held back", principal.name, len(held))
        return result | {"chunks": held}, [Change.hold([of["id"] for of in held])]

    return WriteJob(apply)


def history(memory: Memory, params: QuarantineListParams, principal: Principal) -> dict[str, Any]:
    """List who decided what about which chunk, the oldest first, a page at a time."""
    page = stored.events(memory.reader(), params.after, params.limit)
    events = [
        {
            "id": event.id,
            "at": format_us(event.at_us),
            "action": event.action,
            "chunk_id": event.chunk_id,
            "document_id": event.document_id,
            "reason": event.reason,
            "by": {"uid": event.actor_uid, "pid": event.actor_pid, "name": event.actor_name},
        }
        for event in page
    ]
    return {"events": events, "next": page[-1].id if len(page) == params.limit else None}


def _record(chunk: StoredChunk, principal: Principal) -> dict[str, Any]:
    tags = tags_record(chunk.tags)
    record = {
        "id": chunk.id,
        "document_id": chunk.document_id,
        "reason": chunk.flag_reason,
        "lines": [chunk.line_start, chunk.line_end],
        **{name: tags[name] for name in ("source", "domain", "owner", "created_at")},
        "writer": chunk.writer,
        "text": None,
    }
    if may_change(principal, chunk.tags):
        record |= {"uri": chunk.uri, "title": chunk.title, "text": chunk.text, "untrusted": True}
    return record


def _actor(principal: Principal) -> dict[str, Any]:
    return {"uid": principal.uid, "pid": principal.pid, "name": principal.name}


def _not_there(chunk_id: int) -> NotFound:
    return NotFound(f"no chunk {chunk_id} is in quarantine", id=chunk_id)


OPERATIONS = (
    Operation("quarantine.list", QuarantineListParams, list_chunks, "operator"),
    Operation("quarantine.history", QuarantineListParams, history, "operator"),
    Operation(
        "quarantine.screen",
        ScreenParams,
        screen,
        "operator",
        writes=True,
        audited=True,
        heavy=always,
    ),
    Operation(
        "quarantine.release", QuarantineParams, release, "operator", writes=True, audited=True
    ),
    Operation("quarantine.delete", QuarantineParams, delete, "operator", writes=True, audited=True),
)
