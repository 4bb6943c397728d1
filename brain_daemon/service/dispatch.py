"""From a method's name to its result: one table, one straight path.

Called by the protocol layer on the event loop. Cheap reads answer at once; writes answer after
their commit; heavy work runs on a thread and answers when it is done.
"""

import asyncio
import contextvars
import difflib
import logging
import time
from collections import Counter
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import msgspec

from brain_daemon import __version__, calls
from brain_daemon._ext.distance import simd_tier
from brain_daemon.errors import BadRequest, BrainError, Forbidden, NotFound, Overloaded
from brain_daemon.model import Principal
from brain_daemon.params import decode
from brain_daemon.policy.rules import ANYONE
from brain_daemon.protocol.awaited import Deferred
from brain_daemon.protocol.messages import PROTOCOL_VERSION
from brain_daemon.service import (
    admin,
    audit,
    decay,
    gauges,
    graph,
    health,
    quarantine,
    recall,
    remember,
    transfer,
    verify,
)
from brain_daemon.service.deeds import Deed
from brain_daemon.service.memory import Memory
from brain_daemon.service.metrics import figures
from brain_daemon.service.operation import NoParams, Operation
from brain_daemon.service.writer import Job
from brain_daemon.store import failures
from brain_daemon.store.schema import SCHEMA_VERSION
from brain_daemon.text.analyzer import ANALYZER_VERSION

log = logging.getLogger(__name__)

RETRY_AFTER_MS = 100
HEAVY_THREADS = 2  # of each kind: more would only contend with the event loop for the interpreter


class HelloParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    client: str = ""


def hello(memory: Memory, params: HelloParams, principal: Principal) -> dict[str, Any]:
    """Versions, limits, and what this daemon can do: the table below."""
    settings = memory.settings
    return {
        "product": __version__,
        "protocol": PROTOCOL_VERSION,
        "schema": SCHEMA_VERSION,
        "analyzer": ANALYZER_VERSION,
        "limits": {name: settings[name] for name in settings.values if name.startswith("max_")},
        "capabilities": sorted(OPERATIONS),
        "simd_tier": simd_tier(),
        "principal": admin.whoami(memory, NoParams(), principal),
    }


OPERATIONS: dict[str, Operation] = {
    operation.method: operation
    for operation in (
        Operation("hello", HelloParams, hello, ANYONE),
        *recall.OPERATIONS,
        *remember.OPERATIONS,
        *graph.OPERATIONS,
        *decay.OPERATIONS,
        *verify.OPERATIONS,
        *admin.OPERATIONS,
        *health.OPERATIONS,
        *gauges.OPERATIONS,
        *quarantine.OPERATIONS,
        *transfer.OPERATIONS,
        *audit.OPERATIONS,
    )
}


class _Job(NamedTuple):
    job: Job
    deed: Deed | None


class Dispatcher:
    """The callable that the protocol layer is given."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._in_flight: Counter[str] = Counter()  # of principals that have a quota
        # Apart, so that long checks and exports do not hold up what is to be stored.
        self._threads = {
            writes: ThreadPoolExecutor(HEAVY_THREADS, thread_name_prefix=name)
            for writes, name in ((True, "brain-prepare"), (False, "brain-read"))
        }

    def __call__(
        self, method: str, params: dict[str, Any], principal: Principal, notification: bool
    ) -> Any | Awaitable[Any]:
        """Run one call.

        Returns
        -------
        result or awaitable
            Plain data at once, or an awaitable of it.

        Raises
        ------
        BrainError
            Unknown method, unfit parameters, a principal without the role, or with as many calls
            in flight as its rule allows.
        """
        operation = OPERATIONS.get(method)
        if operation is None:
            raise _unknown(method)
        started = time.perf_counter_ns()
        try:
            result = self._begin(operation, params, principal, notification)
        except BaseException as error:
            self._note_end(method, started, None, error)
            raise
        if type(result) is dict or not hasattr(result, "__await__"):
            self._note_end(method, started, result, None)
            return result
        return self._watched(method, started, result, principal)

    def _begin(
        self,
        operation: Operation,
        params: dict[str, Any],
        principal: Principal,
        notification: bool,
    ) -> Any | Awaitable[Any]:
        """Check a call and give its result, or what gives it."""
        if operation.role not in principal.roles and operation.role != ANYONE:
            raise self._denied(operation, principal)
        if notification and operation.writes:
            raise BadRequest(
                f"{operation.method} writes, so it must be a request and not a notification"
            )
        decoded = decode(params, operation.params)
        is_heavy = operation.heavy is not None and operation.heavy(self._memory, decoded)
        if is_heavy or operation.writes:
            self._check_in_flight(principal)
        if is_heavy:
            call = self._run_on_thread(operation, decoded, principal)
            # What writes is not put off, so that many of them share a commit.
            return asyncio.ensure_future(call) if operation.writes else call
        result = self._run(operation, decoded, principal)
        return self._submit(result) if isinstance(result, _Job) else result

    def close(self) -> None:
        """Wait for the heavy calls under way."""
        for threads in self._threads.values():
            threads.shutdown(wait=True, cancel_futures=True)

    async def _run_on_thread(self, operation: Operation, params: Any, principal: Principal) -> Any:
        in_context = contextvars.copy_context().run  # so that what is logged there names the call
        result = await asyncio.get_running_loop().run_in_executor(
            self._threads[operation.writes], in_context, self._run, operation, params, principal
        )
        if isinstance(result, _Job):
            return await self._submit(result)
        return result

    def _run(self, operation: Operation, params: Any, principal: Principal) -> Any:
        """Give the result, or the job that is to be submitted; audited ones are told of."""
        memory = self._memory
        try:
            result = operation.run(memory, params, principal)
        except failures.FAILURES as error:
            told = failures.translate(error)
            if failures.is_damage(error):
                memory.note_damage(str(told))
            raise told from error
        except Forbidden as error:
            self._tell_denied(operation.method, principal, error)
            raise
        deed = Deed(memory.audit, operation.method, principal) if operation.audited else None
        if isinstance(result, Job):
            return _Job(deed.watched(result) if deed else result, deed)
        if deed:
            deed.tell_done(result)
        return result

    def _submit(self, job: "_Job") -> asyncio.Future[Any]:
        future = self._memory.writer.submit(job.job)
        if job.deed:
            job.deed.follow(future)
        return future

    # ---- what the policy bounds

    def _denied(self, operation: Operation, principal: Principal) -> Forbidden:
        has = ", ".join(sorted(principal.roles)) or "none"
        error = Forbidden(
            f"{operation.method} needs the role {operation.role}, and {principal.name} has {has} "
            f"({principal.rule or 'by no rule'}): have the rule give it",
            role=operation.role,
            rule=principal.rule,
        )
        self._tell_denied(operation.method, principal, error)
        return error

    def _tell_denied(self, method: str, principal: Principal, error: Forbidden) -> None:
        self._memory.audit.denied(
            principal.uid, principal.pid, method, error.message, by=principal.name
        )

    def _check_in_flight(self, principal: Principal) -> None:
        limit = principal.quota.in_flight
        if limit is not None and self._in_flight[principal.name] >= limit:
            raise Overloaded(
                f"{principal.name} has {limit} calls in flight, which is its limit "
                f"({principal.rule}); wait for one of them, or have limits.in_flight raised",
                retry_after_ms=RETRY_AFTER_MS,
            )

    def _watched(
        self, method: str, started: int, result: Awaitable[Any], principal: Principal
    ) -> asyncio.Future[Any] | Deferred:
        """Count a call until it ends, however it ends; a coroutine is not begun yet."""
        context = contextvars.copy_context()  # what is begun later still is this call
        is_bounded = principal.quota.in_flight is not None
        self._memory.metrics.in_flight += 1
        if is_bounded:
            self._in_flight[principal.name] += 1

        def note(result: Any, error: BaseException | None) -> None:
            self._memory.metrics.in_flight -= 1
            if is_bounded:
                self._uncount(principal.name)
            self._note_end(method, started, result, error)

        def end(future: asyncio.Future[Any]) -> None:
            if future.cancelled():
                note(None, asyncio.CancelledError())
            elif (error := future.exception()) is not None:
                note(None, error)
            else:
                note(future.result(), None)

        def watch(future: asyncio.Future[Any]) -> asyncio.Future[Any]:
            future.add_done_callback(end, context=context)
            return future

        if not asyncio.iscoroutine(result):
            return watch(asyncio.ensure_future(result))
        coroutine = result

        def drop() -> None:
            coroutine.close()
            context.run(note, None, asyncio.CancelledError())

        return Deferred(
            lambda: watch(asyncio.get_running_loop().create_task(coroutine, context=context)), drop
        )

    def _uncount(self, name: str) -> None:
        self._in_flight[name] -= 1
        if not self._in_flight[name]:
            del self._in_flight[name]

    # ---- what is measured

    def _note_end(
        self, method: str, started: int, result: Any, error: BaseException | None
    ) -> None:
        """Measure a call that has ended; on the event loop."""
        taken = time.perf_counter_ns() - started
        metrics = self._memory.metrics
        metrics.durations[method].observe(taken)
        if error is not None:
            metrics.failed[method] += 1
            log.debug("call failed", extra={"fields": {"operation": method, "code": _code(error)}})
        elif method == "recall":
            call = calls.current.get()
            if call is not None and call.leg_ns is not None:
                metrics.note_recall(call.leg_ns, result)
        if taken > self._memory.settings["slow_call_ms"] * 1_000_000:
            metrics.slow += 1
            told = {"operation": method, "took_ms": taken / 1e6}
            if error is not None:
                told["code"] = _code(error)
            told |= figures(calls.current.get(), result)
            log.warning("slow call", extra={"fields": told})


def _code(error: BaseException) -> str:
    """Name an error; its message may quote what was sent."""
    return error.code if isinstance(error, BrainError) else type(error).__name__


def _unknown(method: str) -> NotFound:
    method = method[:80]  # to compare a whole message with each name would take a second
    near = difflib.get_close_matches(method, OPERATIONS, n=1)
    hint = f"; did you mean {near[0]}?" if near else "; hello lists the methods"
    return NotFound(f"there is no method {method!r}{hint}", method=method)
