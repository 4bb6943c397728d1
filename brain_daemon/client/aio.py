"""The asyncio client.

Not here: message ids and framing (``core``), the wire methods' names (``methods``). Layer: client.
"""

import asyncio
import socket
from collections import deque
from collections.abc import AsyncIterator, Iterable
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from brain_daemon import paths
from brain_daemon.client.core import Core, dial, lost
from brain_daemon.client.methods import REPEATABLE, Methods
from brain_daemon.errors import BrainError, ConnectionLost, DeadlineExceeded


class _Lost(Exception):
    """The connection ended before the answer came."""


class _Link(asyncio.Protocol):
    """One connection: its core and the futures that wait."""

    def __init__(self) -> None:
        self.is_up = True
        self.can_write = asyncio.Event()
        self.can_write.set()
        self._core: Core[asyncio.Future[Any]] = Core()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def send(self, method: str, params: dict[str, Any]) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.transport.write(self._core.request(future, method, params))
        return future

    def data_received(self, data: bytes) -> None:
        try:
            outcomes = self._core.receive(data)
        except ConnectionLost as error:
            self._core.fault = error
            self.transport.abort()
            return
        for future, outcome in outcomes:
            _settle(future, outcome)
        if self._core.fault is not None:
            self.is_up = False

    def eof_received(self) -> bool:
        self.is_up = False
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_up = False
        self.can_write.set()
        for future in self._core.pending.values():
            _settle(future, self._core.fault or _Lost())

    def pause_writing(self) -> None:
        self.can_write.clear()

    def resume_writing(self) -> None:
        self.can_write.set()


def _settle(future: asyncio.Future[Any], outcome: Any) -> None:
    """Resolve a future, unless its caller has given up."""
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
        future.exception()  # a caller that is gone by now need not be warned of it
    else:
        future.set_result(outcome)


class AsyncClient(Methods):
    """The same as ``Client``, for one event loop; calls may run side by side.

    Parameters
    ----------
    socket_path : path-like, optional
        By default see :func:`brain_daemon.paths.find_socket`.
    timeout_s : float
        Seconds a call waits for its answer before DeadlineExceeded; a late answer is discarded.

    Examples
    --------
    >>> async with AsyncClient() as client:  # doctest: +SKIP
    ...     await client.recall("Where does Ana live?")
    """

    def __init__(
        self, socket_path: str | PathLike[str] | None = None, *, timeout_s: float = 30.0
    ) -> None:
        self.socket_path = paths.find_socket() if socket_path is None else Path(socket_path)
        self.timeout_s = timeout_s
        self._link: _Link | None = None
        self._connecting = asyncio.Lock()

    async def __aenter__(self) -> "AsyncClient":
        await self.connect()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def connect(self) -> None:
        """Connect now; raises ConnectionLost if no daemon can be reached."""
        await self._connected()

    def close(self) -> None:
        """Close the connection. A later call makes a new one."""
        if self._link is not None:
            self._link.is_up = False
            self._link.transport.close()

    async def call(self, method: str, /, **params: Any) -> Any:
        """Call a method and wait for its result.

        Raises
        ------
        BrainError
            The class that matches the error's code.
        """
        try:
            async with asyncio.timeout(self.timeout_s):
                try:
                    return await self._attempt(method, params)
                except _Lost:
                    if method not in REPEATABLE:
                        raise lost(method, self.socket_path, repeatable=False) from None
                try:
                    return await self._attempt(method, params)
                except _Lost:
                    raise lost(method, self.socket_path, repeatable=True) from None
        except TimeoutError:
            raise DeadlineExceeded(f"no answer to {method} in {self.timeout_s:g} s") from None

    async def pipeline(
        self, calls: Iterable[tuple[str, dict[str, Any]]], *, in_flight: int = 64
    ) -> AsyncIterator[Any]:
        """Send calls without waiting for each answer.

        Parameters
        ----------
        calls : iterable of (method, params)
            Taken as they can be sent.
        in_flight : int
            Most calls sent and not answered, at least 1.

        Yields
        ------
        object
            In the order of `calls`: the result, or the BrainError of that call.
        """
        waiting: deque[asyncio.Task[Any]] = deque()
        try:
            for method, params in calls:
                waiting.append(asyncio.create_task(self._outcome(method, params)))
                if len(waiting) >= in_flight:
                    yield await waiting.popleft()
            while waiting:
                yield await waiting.popleft()
        finally:
            for task in waiting:
                task.cancel()

    async def _outcome(self, method: str, params: dict[str, Any]) -> Any:
        try:
            return await self.call(method, **params)
        except BrainError as error:
            return error

    async def _attempt(self, method: str, params: dict[str, Any]) -> Any:
        while True:
            link = await self._connected()
            await link.can_write.wait()
            if link.is_up:
                return await link.send(method, params)

    async def _connected(self) -> _Link:
        async with self._connecting:
            if self._link is None or not self._link.is_up:
                loop = asyncio.get_running_loop()
                sock = await self._dial()
                _, self._link = await loop.create_unix_connection(_Link, sock=sock)
            return self._link

    async def _dial(self) -> socket.socket:
        attempts = dial(self.socket_path, again=self._link is not None)
        while True:
            try:
                delay_s = next(attempts)
            except StopIteration as done:
                sock: socket.socket = done.value
                return sock
            await asyncio.sleep(delay_s)
