"""A real server on a real socket, with uvloop on a thread, and an echo for a service."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgpack
import pytest
import uvloop

from brain_daemon.errors import NotFound
from brain_daemon.model import PeerCredentials
from brain_daemon.protocol import connection
from brain_daemon.protocol.awaited import Deferred
from brain_daemon.protocol.framing import Limits
from brain_daemon.protocol.server import Server

TIMEOUT_S = 30


def wait_until(condition: Callable[[], bool]) -> None:
    """Poll until the condition holds; fail after TIMEOUT_S."""
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        time.sleep(0.002)


class Serving:
    """A server under test; a context manager. What it was asked is in ``calls``."""

    def __init__(
        self,
        path: Path,
        limits: Limits | None = None,
        authenticate: Callable[[PeerCredentials], Any] = lambda peer: peer,
        leave: Callable[[Any], None] = lambda principal: None,
    ) -> None:
        self.path = path
        self.server = Server(self._dispatch, authenticate, limits, leave)
        self.calls: list[tuple[str, bool]] = []
        self.cancelled: list[str] = []
        self.held: list[asyncio.Future[Any]] = []
        self.n_begun = 0
        self.loop: asyncio.AbstractEventLoop
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: uvloop.run(self._run()))

    def __enter__(self) -> "Serving":
        self._thread.start()
        assert self._ready.wait(TIMEOUT_S)
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(TIMEOUT_S)
            assert not self._thread.is_alive()
        self.path.unlink(missing_ok=True)

    async def _run(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        await self.server.listen(listener)
        self._ready.set()
        await self._stop.wait()
        await self.server.drain(0)

    def drain(self, grace_s: float) -> None:
        """Drain the server and wait for it."""
        asyncio.run_coroutine_threadsafe(self.server.drain(grace_s), self.loop).result(TIMEOUT_S)

    def start_drain(self, grace_s: float) -> Any:
        return asyncio.run_coroutine_threadsafe(self.server.drain(grace_s), self.loop)

    def readmit(self) -> None:
        """Judge all connections anew, and wait for it."""

        async def judged() -> None:
            self.server.readmit()

        asyncio.run_coroutine_threadsafe(judged(), self.loop).result(TIMEOUT_S)

    def resolve(self, index: int, result: Any) -> None:
        """Give the result of a held call."""
        self.loop.call_soon_threadsafe(self.held[index].set_result, result)

    def connect(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(TIMEOUT_S)
        try:
            sock.connect(str(self.path))
        except OSError:
            sock.close()
            raise
        return sock

    def pings(self) -> bool:
        """Whether a ping on a new connection is answered."""
        with self.connect() as sock:
            sock.sendall(request(7, "ping"))
            return answers(sock, 1) == [[1, 7, None, "pong"]]

    def _dispatch(self, method: str, params: dict[str, Any], principal: Any, note: bool) -> Any:
        self.calls.append((method, note))
        match method:
            case "ping":
                return "pong"
            case "echo":
                return params
            case "principal":
                return [principal.pid, principal.uid, principal.gid, list(principal.groups)]
            case "bytes":
                return b"x" * params["n"]
            case "work":
                return time.sleep(params["s"])
            case "later":
                return self._later(params)
            case "hang":
                return self._hang()
            case "hold":
                self.held.append(self.loop.create_future())
                return self.held[-1]
            case "begin":
                return self._deferred(self._begin())
            case "bytes_later":
                return self._deferred(self._bytes_later(params))
            case "task":
                return self.loop.create_task(self._task())
            case "fail":
                raise ERRORS[params["with"]]
            case "fail_later":
                return self._fail_later(params)
            case "unsendable":
                return {"n": 2**70}
        raise NotFound(f"there is no method {method}")

    def _deferred(self, work: Coroutine[Any, Any, Any]) -> Deferred:
        return Deferred(lambda: self.loop.create_task(work), work.close)

    async def _begin(self) -> Any:
        """A held call that shows when it is begun."""
        self.held.append(self.loop.create_future())
        return await self.held[-1]

    async def _bytes_later(self, params: dict[str, Any]) -> bytes:
        self.n_begun += 1
        await asyncio.sleep(0)
        return b"x" * params["n"]

    async def _task(self) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.append("task")
            raise

    async def _later(self, params: dict[str, Any]) -> Any:
        await asyncio.sleep(0)
        return params

    async def _hang(self) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.append("hang")
            raise

    async def _fail_later(self, params: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        raise ERRORS[params["with"]]


ERRORS: dict[str, Exception] = {
    "not_found": NotFound("no such thing", id=5),
    "odd_detail": NotFound("nor this", what=object()),
    "value": ValueError("a secret detail"),
    "memory": MemoryError(),
    "recursion": RecursionError(),
}


def fail_to_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what serves a request of the method ``fail`` run out of memory before it is one."""
    parse = connection.parse_call

    def fail(message: Any) -> Any:
        if message[2] == "fail":
            raise MemoryError
        return parse(message)

    monkeypatch.setattr(connection, "parse_call", fail)


def request(msgid: Any, method: Any, params: Any = None) -> bytes:
    return msgpack.packb([0, msgid, method, [{} if params is None else params]])


def answers(sock: socket.socket, n: int | None = None) -> list[Any]:
    """Read n responses, or all until the server closes."""
    unpacker = msgpack.Unpacker()
    found: list[Any] = []
    while n is None or len(found) < n:
        data = sock.recv(65536)
        if not data:
            assert n is None, f"closed after {found}"
            break
        unpacker.feed(data)
        found.extend(unpacker)
    return found
