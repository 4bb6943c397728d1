"""Operations on the audit log: checking it, and reading its records, which hold no content."""

from typing import Annotated, Any

import msgspec

from brain_daemon.audit.log import read_head
from brain_daemon.model import Principal
from brain_daemon.service.memory import Memory
from brain_daemon.service.operation import Cursor, Operation, always

MAX_PAGE = 1000


class VerifyParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    head: Annotated[str, msgspec.Meta(max_length=128)] | None = None


class ListParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    after: Cursor | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE)] = 20


def verify(memory: Memory, params: VerifyParams, principal: Principal) -> dict[str, Any]:
    """Check the chain, that it ends where the daemon wrote last, and that it holds a noted head."""
    noted = None if params.head is None else read_head(params.head)
    verdict = memory.audit.verify(noted)
    return {
        "ok": not verdict.findings,
        "records": verdict.records,
        "head": str(verdict.head),
        "findings": verdict.findings,
        "path": str(memory.audit.path),
    }


def list_records(memory: Memory, params: ListParams, principal: Principal) -> dict[str, Any]:
    """Give the records after a number, or the newest."""
    newest = memory.audit.head.seq
    after = max(0, newest - params.limit) if params.after is None else params.after
    records = memory.audit.page(after, params.limit)
    more = bool(records) and records[-1]["seq"] < newest
    return {"records": records, "next": records[-1]["seq"] if more else None}


OPERATIONS = (
    Operation("audit.verify", VerifyParams, verify, "operator", heavy=always),
    Operation("audit.list", ListParams, list_records, "operator", heavy=always),
)
