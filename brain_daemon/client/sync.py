"""The blocking client.

Not here: message ids and framing (``core``), the wire methods' names (``methods``). Layer: client.
"""

import select
import socket
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

from brain_daemon import paths
from brain_daemon.client.core import Core, dial, lost
from brain_daemon.client.methods import REPEATABLE, Methods
from brain_daemon.errors import BrainError, ConnectionLost, DeadlineExceeded

_READ_BYTES = 64 * 1024
_WAITING: Any = object()


class _Call:
    """A call on its way; ``outcome`` is its result or a BrainError once it has one."""

    __slots__ = ("is_sent", "method", "n_tries", "outcome", "params")

    def __init__(self, method: str, params: dict[str, Any]) -> None:
        self.method = method
        self.params = params
        self.outcome = _WAITING
        self.is_sent = False  # to its last byte; before that it cannot be carried out
        self.n_tries = 0


class Client(Methods):
    """A connection to the daemon, made when first needed and made anew when it is lost.

    A call that was not wholly sent, or that changes nothing, is repeated once on a new connection.
    A write whose answer was lost raises ConnectionLost, which says that it may have happened.
    Threads may share a client; they wait for one another.

    Parameters
    ----------
    socket_path : path-like, optional
        By default see :func:`brain_daemon.paths.find_socket`.
    timeout_s : float
        Seconds a call waits for its answer before DeadlineExceeded; a late answer is discarded.

    Examples
    --------
    >>> with Client() as client:  # doctest: +SKIP
    ...     client.remember("Ana moved to Lisbon in May")
    ...     client.recall("Where does Ana live?")["hits"]
    """

    def __init__(
        self, socket_path: str | PathLike[str] | None = None, *, timeout_s: float = 30.0
    ) -> None:
        self.socket_path = paths.find_socket() if socket_path is None else Path(socket_path)
        self.timeout_s = timeout_s
        self._lock = threading.RLock()
        self._core: Core[_Call] = Core()
        self._sock: socket.socket | None = None
        self._was_connected = False
        self._unsent: deque[tuple[_Call, memoryview]] = deque()

    def __enter__(self) -> "Client":
        self.connect()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def connect(self) -> None:
        """Connect now; raises ConnectionLost if no daemon can be reached."""
        with self._lock:
            if self._sock is None:
                self._sock = self._dial()
                self._core = Core()
                self._was_connected = True

    def close(self) -> None:
        """Close the connection. A later call makes a new one."""
        with self._lock:
            self._drop()

    def call(self, method: str, /, **params: Any) -> Any:
        """Call a method and wait for its result.

        Raises
        ------
        BrainError
            The class that matches the error's code.
        """
        call = _Call(method, params)
        with self._lock:
            self._begin(call)
            self._await(call)
        if isinstance(call.outcome, BrainError):
            raise call.outcome
        return call.outcome

    def pipeline(
        self, calls: Iterable[tuple[str, dict[str, Any]]], *, in_flight: int = 64
    ) -> Iterator[Any]:
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
        waiting: deque[_Call] = deque()
        for method, params in calls:
            call = _Call(method, params)
            with self._lock:
                self._begin(call)
            waiting.append(call)
            if len(waiting) >= in_flight:
                yield self._finish(waiting.popleft())
        while waiting:
            yield self._finish(waiting.popleft())

    def _finish(self, call: _Call) -> Any:
        with self._lock:
            self._await(call)
        return call.outcome

    def _begin(self, call: _Call) -> None:
        """Send a call; whatever goes wrong becomes its outcome."""
        call.n_tries += 1
        if self._core.fault is not None:
            self._break_off()
        try:
            self.connect()
            data = self._core.request(call, call.method, call.params)
        except BrainError as error:
            call.outcome = error
            return
        self._unsent.append((call, memoryview(data)))
        deadline = time.monotonic() + self.timeout_s
        while self._unsent and self._exchange(deadline):
            pass
        if self._unsent:
            # Half a message stands in the stream, so the connection is of no further use.
            call.outcome = self._late(call)
            self._break_off()

    def _await(self, call: _Call) -> None:
        deadline = time.monotonic() + self.timeout_s
        while call.outcome is _WAITING:
            if not self._exchange(deadline):
                call.outcome = self._late(call)

    def _late(self, call: _Call) -> DeadlineExceeded:
        return DeadlineExceeded(f"no answer to {call.method} in {self.timeout_s:g} s")

    def _exchange(self, deadline: float) -> bool:
        """Send what can be sent, or else wait and read; False once the deadline has passed."""
        sock = self._sock
        if sock is None:
            return True
        try:
            if self._unsent and self._send_some(sock):
                return True
            poll = select.poll()
            poll.register(sock, select.POLLIN | (select.POLLOUT if self._unsent else 0))
            events = poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
            if not events:
                return False
            if events[0][1] & ~select.POLLOUT:
                self._receive(sock.recv(_READ_BYTES))
        except BlockingIOError:
            return True
        except (OSError, ConnectionLost):
            self._break_off()
        return True

    def _send_some(self, sock: socket.socket) -> bool:
        call, data = self._unsent[0]
        try:
            n_sent = sock.send(data)
        except BlockingIOError:
            return False
        except OSError:
            self._read_last_words(sock)
            raise
        if n_sent < len(data):
            self._unsent[0] = (call, data[n_sent:])
        else:
            call.is_sent = True
            self._unsent.popleft()
        return True

    def _read_last_words(self, sock: socket.socket) -> None:
        """Read what a peer that closed had said before: answers, or why it closed."""
        while data := sock.recv(_READ_BYTES):
            self._receive(data)

    def _receive(self, data: bytes) -> None:
        if not data:
            self._break_off()
            return
        for call, outcome in self._core.receive(data):
            if call.outcome is _WAITING:
                call.outcome = outcome

    def _break_off(self) -> None:
        """Give up the connection and settle what waits on it, repeating what is safe to repeat."""
        core = self._core
        self._drop(settle=False)
        self._core = Core()
        for call in list(core.pending.values()):
            if call.outcome is not _WAITING:
                continue
            repeatable = not call.is_sent or call.method in REPEATABLE
            if core.fault is not None:
                call.outcome = core.fault
            elif repeatable and call.n_tries == 1:
                call.is_sent = False
                self._begin(call)
            else:
                call.outcome = lost(call.method, self.socket_path, repeatable=repeatable)

    def _drop(self, *, settle: bool = True) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None
        self._unsent.clear()
        if settle:
            for call in self._core.pending.values():
                if call.outcome is _WAITING:
                    call.outcome = ConnectionLost("the client was closed", method=call.method)

    def _dial(self) -> socket.socket:
        attempts = dial(self.socket_path, again=self._was_connected)
        while True:
            try:
                time.sleep(next(attempts))
            except StopIteration as done:
                sock: socket.socket = done.value
                return sock
