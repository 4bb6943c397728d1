"""From a method's name to its result: one table, one straight path.

Called by the protocol layer on the event loop. Cheap reads answer at once; writes answer after
their commit; heavy work runs on a thread and answers when it is done.
"""

import asyncio
import difflib
import logging
import time
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from brain_daemon import __version__
from brain_daemon._ext.distance import simd_tier
from brain_daemon.errors import BadRequest, Forbidden, NotFound
from brain_daemon.model import Principal
from brain_daemon.params import decode
from brain_daemon.protocol.messages import PROTOCOL_VERSION
from brain_daemon.service import admin, decay, graph, quarantine, recall, remember, transfer, verify
from brain_daemon.service.memory import Memory
from brain_daemon.service.operation import NoParams, Operation
from brain_daemon.service.writer import ExclusiveJob, WriteJob
from brain_daemon.store import failures
from brain_daemon.store.schema import SCHEMA_VERSION
from brain_daemon.text.analyzer import ANALYZER_VERSION

log = logging.getLogger(__name__)

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
        Operation("hello", HelloParams, hello, "reader"),
        *recall.OPERATIONS,
        *remember.OPERATIONS,
        *graph.OPERATIONS,
        *decay.OPERATIONS,
        *verify.OPERATIONS,
        *admin.OPERATIONS,
        *quarantine.OPERATIONS,
        *transfer.OPERATIONS,
    )
}


class Dispatcher:
    """The callable that the protocol layer is given."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
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
            Unknown method, unfit parameters, or a principal without the role.
        """
        operation = OPERATIONS.get(method)
        if operation is None:
            raise _unknown(method)
        if operation.role not in principal.roles:
            raise Forbidden(f"{method} needs the role {operation.role}", role=operation.role)
        if notification and operation.writes:
            raise BadRequest(f"{method} writes, so it must be a request and not a notification")
        decoded = decode(params, operation.params)
        if operation.heavy(self._memory, decoded):
            return self._run_on_thread(operation, decoded, principal)
        started = time.perf_counter()
        result = _run(operation, self._memory, decoded, principal)
        self._note_duration(method, started)
        if isinstance(result, WriteJob | ExclusiveJob):
            return self._memory.writer.submit(result)
        return result

    def close(self) -> None:
        """Wait for the heavy calls under way."""
        for threads in self._threads.values():
            threads.shutdown(wait=True, cancel_futures=True)

    async def _run_on_thread(self, operation: Operation, params: Any, principal: Principal) -> Any:
        started = time.perf_counter()
        result = await asyncio.get_running_loop().run_in_executor(
            self._threads[operation.writes], _run, operation, self._memory, params, principal
        )
        self._note_duration(operation.method, started)
        if isinstance(result, WriteJob | ExclusiveJob):
            return await self._memory.writer.submit(result)
        return result

    def _note_duration(self, method: str, started: float) -> None:
        seconds = time.perf_counter() - started
        if seconds * 1000 > self._memory.settings["slow_call_ms"]:
            log.warning("slow call: %s took %.0f ms", method, seconds * 1000)


def _run(operation: Operation, memory: Memory, params: Any, principal: Principal) -> Any:
    try:
        return operation.run(memory, params, principal)
    except failures.FAILURES as error:
        raise failures.translate(error) from error


def _unknown(method: str) -> NotFound:
    near = difflib.get_close_matches(method, OPERATIONS, n=1)
    hint = f"; did you mean {near[0]}?" if near else "; hello lists the methods"
    return NotFound(f"there is no method {method[:80]!r}{hint}", method=method[:80])
