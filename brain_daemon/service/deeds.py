"""What the audit log is told of the operations that it must know of: who, what, which ids.

A change is told inside its transaction and made durable before the commit: what is not told is
not done. Maintenance is told before and after, a backup and a page of an export before the caller
has the answer. Neither text nor a uri nor a name of an entity is told, for all may be content.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import apsw

from brain_daemon.audit.log import AuditLog
from brain_daemon.index.snapshot import Change
from brain_daemon.model import Principal
from brain_daemon.service.writer import ExclusiveJob, Job, PutJob, WriteJob

_Given = TypeVar("_Given")
MAX_IDS = 50  # of a list in one record; its length is told as well
_TOLD = (
    *("id", "document_id", "document_ids", "chunk_ids", "expires_at"),
    *("created", "updated", "unchanged"),
    *("path", "size_bytes", "sha256", "chunks", "generation", "before_bytes", "after_bytes"),
)


class Deed:
    """One call of an audited operation, from its begin to its end."""

    def __init__(self, audit: AuditLog, method: str, principal: Principal) -> None:
        self._audit = audit
        self._method = method
        self._who = {"by": principal.name, "uid": principal.uid, "pid": principal.pid}
        self._seq: int | None = None

    def tell(self, step: str, **fields: Any) -> None:
        """Append a record; one that is not the first names the one before it."""
        if self._seq is not None:
            fields["of"] = self._seq
        self._seq = self._audit.append(self._method, step=step, **self._who, **fields)

    def tell_done(self, result: Any) -> None:
        """Tell of what was done without a job, durably, before anybody learns the result."""
        self.tell("done", **_told(result))
        self._audit.sync()

    def watched(self, job: Job) -> Job:
        """Give the job that does the same and tells of it."""
        if isinstance(job, WriteJob):
            return WriteJob(self._telling(job.apply), job.frees)
        if isinstance(job, PutJob):
            return PutJob(job.put, self._telling(job.tell))
        run = job.run

        def telling(connection: apsw.Connection) -> Any:
            self.tell("begun")
            self._audit.sync()
            result = run(connection)
            self.tell("done", **_told(result))
            return result

        return ExclusiveJob(telling)

    def follow(self, future: "asyncio.Future[Any]") -> None:
        """Tell of a job that failed after it was told of."""
        future.add_done_callback(self._note_outcome)

    def _note_outcome(self, future: "asyncio.Future[Any]") -> None:
        # A caller that went away or ran out of time cancels its wait and not the job.
        if not future.cancelled() and future.exception() is not None and self._seq is not None:
            self.tell("failed", error=type(future.exception()).__name__)

    def _telling(
        self, apply: Callable[[_Given], tuple[Any, Sequence[Change]]]
    ) -> Callable[[_Given], tuple[Any, Sequence[Change]]]:
        def telling(given: _Given) -> tuple[Any, Sequence[Change]]:
            result, changes = apply(given)
            self.tell("commit", **_told(result))  # durable before it: Writer.before_commit
            return result, changes

        return telling


def _told(result: Any) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name in _TOLD:
        if name in result:
            value = result[name]
            if isinstance(value, list) and len(value) > MAX_IDS:
                told[f"n_{name}"] = len(value)
                value = value[:MAX_IDS]
            told[name] = value
    return told
