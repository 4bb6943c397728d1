"""Operations on what has expired: listing it, and letting it live on.

Expiry hides at the instant and removes nothing. What becomes of a memory then is decided by a
person, here or with ``forget``.
"""

from typing import Annotated, Any

import apsw
import msgspec
import numpy as np

from brain_daemon.errors import BadRequest, NotFound
from brain_daemon.index.snapshot import Change
from brain_daemon.index.visibility import Filters
from brain_daemon.model import Principal
from brain_daemon.recall.evidence import chunk_record
from brain_daemon.service.access import may_change
from brain_daemon.service.memory import Memory
from brain_daemon.service.operation import Id, Operation
from brain_daemon.service.remember import Label, Stamp
from brain_daemon.service.writer import WriteJob
from brain_daemon.store import chunks, documents
from brain_daemon.timestamps import format_us, now_us, parse_us


class DecayedParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    domain: Label | None = None
    k: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class ExtendParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    document_id: Id
    expires_at: Stamp | None


def decayed(memory: Memory, params: DecayedParams, principal: Principal) -> dict[str, Any]:
    """List expired chunks that the caller may see, the last expired first, then by id."""
    now = now_us()
    snapshot = memory.snapshot
    visible = snapshot.visible(principal, Filters(domain=params.domain, include_decayed=True), now)
    expires_at_us = snapshot.rows.expires_at_us
    rows = np.flatnonzero((visible.mask != 0) & (expires_at_us <= now))
    newest = rows[np.argsort(-expires_at_us[rows], kind="stable")][: params.k]
    found = chunks.fetch(memory.reader(), snapshot.rows.chunk_id[newest].tolist())
    return {"chunks": [chunk_record(chunk) for chunk in found], "n_decayed": len(rows)}


def extend(memory: Memory, params: ExtendParams, principal: Principal) -> WriteJob:
    """Give a document another expiry, or none.

    Raises
    ------
    BadRequest
        The time is past: that would hide the document, which is what ``forget`` is for.
    NotFound
        There is no such document of the caller's.
    """
    given = params.expires_at
    expires_at_us = None if given is None else parse_us(given, "expires_at")
    if expires_at_us is not None and expires_at_us <= now_us():
        raise BadRequest(
            f"expires_at is {format_us(expires_at_us)}, which is past; give a time to come, or nil "
            "to keep the document for good",
            field="expires_at",
        )

    def apply(connection: apsw.Connection) -> tuple[dict[str, Any], list[Change]]:
        found = documents.find(connection, document_id=params.document_id)
        if not found or not may_change(principal, found[0].tags):
            raise NotFound(f"there is no document {params.document_id}", id=params.document_id)
        chunk_ids = documents.set_expiry(connection, params.document_id, expires_at_us)
        result = {
            "document_id": params.document_id,
            "chunk_ids": chunk_ids,
            "expires_at": None if expires_at_us is None else format_us(expires_at_us),
        }
        return result, [Change.expiring(chunk_ids, expires_at_us)]

    return WriteJob(apply)


OPERATIONS = (
    Operation("decayed", DecayedParams, decayed, "operator"),
    Operation("decay.extend", ExtendParams, extend, "operator", writes=True, audited=True),
)
