"""A real protocol server with answers chosen by the test, and the command run against it."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from brain_daemon.cli.main import cli
from brain_daemon.errors import NotFound
from brain_daemon.protocol.server import Server

Answer = Callable[[dict[str, Any]], Any]


class Stand:
    """A server whose methods the test fills in; it keeps the calls that it answered."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.answers: dict[str, Any] = {"hello": {"limits": {"max_text_bytes": 1 << 19}}}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def start(self) -> None:
        self._thread.start()
        assert self._started.wait(10)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def run(self, *arguments: str, **options: Any) -> Result:
        """Run ``brain`` in this process against the stand."""
        command = ["--socket", os.fspath(self.path), *arguments]
        return CliRunner().invoke(cli, command, prog_name="brain", **options)

    def params(self, method: str) -> list[dict[str, Any]]:
        """Parameters of the calls of a method, in order."""
        return [params for name, params in self.calls if name == method]

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.fspath(self.path))
        listener.listen()
        listener.setblocking(False)
        server = Server(self._dispatch, lambda peer: peer)
        await server.listen(listener)
        self._started.set()
        await self._stopping.wait()
        # A connection accepted in the last moment must be made before it can be drained.
        accepting = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*accepting)
        await server.drain(5.0)

    def _dispatch(
        self, method: str, params: dict[str, Any], principal: Any, notification: bool
    ) -> Any:
        self.calls.append((method, params))
        if method not in self.answers:
            raise NotFound(f"there is no method {method!r}")
        answer = self.answers[method]
        if callable(answer):
            answer = answer(params)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    """A running server at a socket of its own."""
    server = Stand(tmp_path / "brain.sock")
    server.start()
    yield server
    server.stop()
