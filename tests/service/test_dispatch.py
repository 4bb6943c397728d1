"""The one table at work: long reads do not hold up writes, and failures of the disk are typed."""

import asyncio
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec import structs

from brain_daemon import calls, config
from brain_daemon.errors import BadRequest, Forbidden, NotFound, StoreDegraded
from brain_daemon.model import Principal
from brain_daemon.policy.rules import ROLES
from brain_daemon.protocol.awaited import Deferred
from brain_daemon.service import dispatch
from brain_daemon.service.memory import Memory

CALLER = Principal(name="alice", uid=1000, gid=1000, pid=1, roles=ROLES)


@pytest.fixture
def dispatcher(tmp_path: Path) -> Iterator[dispatch.Dispatcher]:
    memory = Memory(config.load({"store": str(tmp_path)}, environ={}))
    dispatcher = dispatch.Dispatcher(memory)
    yield dispatcher
    dispatcher.close()
    memory.close()


def substitute(monkeypatch: pytest.MonkeyPatch, method: str, run: Any) -> None:
    operation = replace(dispatch.OPERATIONS[method], run=run)
    monkeypatch.setitem(dispatch.OPERATIONS, method, operation)


def test_long_reads_do_not_hold_up_a_long_write(
    dispatcher: dispatch.Dispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    substitute(monkeypatch, "health", lambda *_: release.wait(30))

    async def scenario() -> None:
        checks = [
            asyncio.ensure_future(dispatcher("health", {"deep": True}, CALLER, False))
            for _ in range(2 * dispatch.HEAVY_THREADS)
        ]
        long = {"text": "the heron stands in the reeds. " * 2000}
        stored = await asyncio.wait_for(dispatcher("remember", long, CALLER, False), 30)
        assert stored["created"]
        assert not any(check.done() for check in checks)
        release.set()
        assert await asyncio.gather(*checks) == [True] * len(checks)

    asyncio.run(scenario())


def test_long_reads_wait_to_be_begun_and_long_writes_do_not(
    dispatcher: dispatch.Dispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def named(*_: Any) -> list[str]:
        call = calls.current.get()
        assert call is not None
        return [call.request]

    substitute(monkeypatch, "stats", named)

    async def scenario() -> None:
        text = "the heron stands in the reeds. " * 2000
        write = dispatcher("remember", {"text": text}, CALLER, False)
        assert isinstance(write, asyncio.Task)
        token = calls.current.set(calls.Call(7, 3))
        read = dispatcher("stats", {}, CALLER, False)
        calls.current.reset(token)
        assert isinstance(read, Deferred)
        assert await read.begin() == ["7-3"]  # begun later, it is still that call
        assert (await write)["created"]

    asyncio.run(scenario())


@pytest.mark.parametrize("method", ["get", "documents"])  # on the event loop, and on a thread
@pytest.mark.parametrize("error", [apsw.IOError, apsw.CorruptError, apsw.CantOpenError])
def test_failing_disk_is_a_typed_error(
    dispatcher: dispatch.Dispatcher,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    error: type[apsw.Error],
) -> None:
    def fail(*_: object) -> None:
        raise error("disk I/O error")

    substitute(monkeypatch, method, fail)

    async def call() -> Any:
        result = dispatcher(method, {"id": 1} if method == "get" else {}, CALLER, False)
        return await result if hasattr(result, "__await__") else result

    with pytest.raises(StoreDegraded, match="file"):
        asyncio.run(call())


def test_role_is_asked_before_parameters(dispatcher: dispatch.Dispatcher) -> None:
    reader = structs.replace(CALLER, roles=frozenset({"reader"}))
    with pytest.raises(Forbidden, match="writer"):
        dispatcher("remember", {"nonsense": 1}, reader, False)


@pytest.mark.parametrize(
    "method", [name for name, operation in dispatch.OPERATIONS.items() if operation.writes]
)
def test_what_changes_anything_is_no_notification(
    dispatcher: dispatch.Dispatcher, method: str
) -> None:
    with pytest.raises(BadRequest, match="notification"):
        dispatcher(method, {}, CALLER, True)


def test_everything_beyond_reading_changes_something() -> None:
    changing = {"remember", "ingest_markdown", "forget", "import", "link", "unlink"}
    changing |= {"decay.extend", "quarantine.release", "quarantine.delete", "quarantine.screen"}
    changing |= {"reindex", "compact", "backup", "policy.reload"}
    assert {name for name, op in dispatch.OPERATIONS.items() if op.writes} == changing


def test_a_name_as_long_as_a_message_is_refused_at_once(dispatcher: dispatch.Dispatcher) -> None:
    def cpu_s(name: str) -> float:
        began = time.thread_time()
        with pytest.raises(NotFound, match="there is no method 'remembe"):
            dispatcher(name, {}, CALLER, False)
        return time.thread_time() - began

    name = "remembe" * 1_000_000
    assert min(cpu_s(name) for _ in range(3)) < 0.05  # to compare all of it takes a second
    with pytest.raises(NotFound, match=r"did you mean remember\?"):
        dispatcher("remembe", {}, CALLER, False)
