"""What all connections share: the callables they serve, their number, the sweep, the drain.

Here: ``Server``, the factory of connections. Not here: the listening socket's path and mode (the
daemon makes the socket), methods and policy (the service passes callables in). Layer: protocol.
"""

import asyncio
import logging
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

from brain_daemon.calls import request_id
from brain_daemon.errors import BrainError, InternalError, Overloaded, TooLarge, to_wire
from brain_daemon.model import PeerCredentials
from brain_daemon.protocol.connection import ALLOWANCE_BYTES, Connection
from brain_daemon.protocol.framing import Limits
from brain_daemon.protocol.lane import Lane
from brain_daemon.protocol.messages import Encoder
from brain_daemon.protocol.peer import read_peer
from brain_daemon.protocol.traffic import Traffic
from brain_daemon.protocol.turns import Turns

log = logging.getLogger("brain_daemon.protocol")

Dispatch = Callable[[str, dict[str, Any], Any, bool], Any]
"""``dispatch(method, params, principal, notification)``: a result, or an awaitable of one."""

Authenticate = Callable[[PeerCredentials], Any]
"""``authenticate(peer)``: the principal handed to dispatch; raises Forbidden for a stranger."""

Leave = Callable[[Any], None]
"""``leave(principal)``: called once for each principal that ``authenticate`` gave."""

BACKLOG = 4096
RETRY_AFTER_MS = 500

_SWEEP_S = 1.0
_TURNS = 2  # of the loop: one looks for what has arrived, the next has read it
_MAX_REFUSED = 64  # surplus connections kept until they can be told so


class Server:
    """Serve msgpack-RPC on Unix sockets.

    Parameters
    ----------
    dispatch : callable
        Carries out one call, on the event loop. A notification must not write. A coroutine is
        run as a task, and a task is cancelled when its deadline passes or its client goes; another
        future is only awaited, never cancelled, since others may resolve it. What is `Deferred` is
        begun a few at a time for one connection, and not while its client does not read.
    authenticate : callable
        Called once per connection, and again by :meth:`readmit`.
    limits : Limits
    leave : callable
        Called when a connection has gone, or before it is judged anew.
    traffic : Traffic, optional
        Where to count.

    ``dispatch`` and ``limits`` may be replaced while serving: the former holds from the next call
    on, the latter for new connections.
    """

    def __init__(
        self,
        dispatch: Dispatch,
        authenticate: Authenticate,
        limits: Limits | None = None,
        leave: Leave = lambda principal: None,
        traffic: Traffic | None = None,
    ) -> None:
        self.dispatch = dispatch
        self.traffic = traffic or Traffic()
        self.limits = limits or Limits()
        self.authenticate = authenticate
        self.leave = leave
        self.lane = Lane()
        self.turns = Turns()
        self.n_held_bytes = 0
        self._encoder = Encoder()
        self._connections: set[Connection] = set()
        self._watched: set[Connection] = set()  # those that have a deadline
        self._listeners: list[asyncio.Server] = []
        self._own_sockets: list[socket.socket] = []
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._drained: asyncio.Future[None] | None = None

    @property
    def n_connections(self) -> int:
        """Open connections, refused ones included."""
        return len(self._connections)

    async def listen(self, sock: socket.socket, *, is_shared: bool = False) -> None:
        """Accept connections on a bound Unix stream socket, which is closed by :meth:`drain`.

        Who waits to be accepted then is still served, unless the socket ``is_shared`` with a
        manager: there the next process finds them.
        """
        loop = asyncio.get_running_loop()
        if not is_shared:
            self._own_sockets.append(sock)
        # The path belongs to the daemon, or to systemd: closing must not unlink it.
        options: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
        self._listeners.append(
            await loop.create_unix_server(self.connect, sock=sock, backlog=BACKLOG, **options)
        )

    def connect(self) -> Connection:
        """Make the protocol of one accepted connection."""
        self.traffic.accepted += 1
        return Connection(self)

    def readmit(self) -> None:
        """Judge every open connection anew, by the credentials with which it came.

        One that is refused now is told so in answer to its next request, and closed.
        """
        for connection in list(self._connections):
            with connection.cut_off_on_failure():
                connection.readmit()

    async def drain(self, grace_s: float) -> None:
        """Stop accepting, answer every request that has arrived, close.

        Parameters
        ----------
        grace_s : float
            After this many seconds what is left is cut off.
        """
        deadline = monotonic() + grace_s
        for sock in self._own_sockets:
            await self._accept_waiting(sock, deadline)
        for listener in self._listeners:
            listener.close()
        for _ in range(_TURNS):  # so that what has arrived is read
            await asyncio.sleep(0)
        self._drained = asyncio.get_running_loop().create_future()
        for connection in list(self._connections):
            with connection.cut_off_on_failure():
                connection.drain()
        if self._connections:
            await asyncio.wait([self._drained], timeout=max(0.0, deadline - monotonic()))
        while self._connections:
            for connection in list(self._connections):
                connection.abort()
            await asyncio.sleep(0)

    async def _accept_waiting(self, sock: socket.socket, deadline: float) -> None:
        """Accept who has connected; the loop does so one a turn, and serves others in between."""
        loop = asyncio.get_running_loop()
        with suppress(OSError):  # nobody waits any more, or no descriptor is left
            for _ in range(BACKLOG):
                if monotonic() >= deadline:
                    break
                accepted, _ = sock.accept()
                await loop.connect_accepted_socket(self.connect, accepted)

    # ---- called by connections

    def admit(self, connection: Connection, sock: socket.socket) -> PeerCredentials:
        """Register a connection and give its peer; raises the reason to refuse it."""
        n_others = len(self._connections)
        self._connections.add(connection)
        if self._drained is not None or n_others >= self.limits.max_connections + _MAX_REFUSED:
            connection.abort()
        if n_others >= self.limits.max_connections:
            raise Overloaded(
                f"{n_others} connections are open, limit {self.limits.max_connections}; "
                "close one or try again later",
                retry_after_ms=RETRY_AFTER_MS,
            )
        return read_peer(sock)

    def release(self, connection: Connection) -> None:
        """Forget a connection that is gone."""
        self._connections.discard(connection)
        self.traffic.closed += 1
        self._watched.discard(connection)
        self.lane.leave(connection)
        if not self._watched and self._sweep_timer is not None:
            self._sweep_timer.cancel()
            self._sweep_timer = None
        if not self._connections and self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def watch(self, connection: Connection) -> None:
        """Sweep a connection until it has no deadline any more: of many, most are idle."""
        self._watched.add(connection)
        if self._sweep_timer is None:
            self._schedule_sweep()

    @property
    def is_full(self) -> bool:
        """Whether all connections together hold as much as they may."""
        return self.n_held_bytes >= self.limits.max_held_bytes

    def overload(self) -> Overloaded:
        """Make the error that says so."""
        return Overloaded(
            f"all connections together hold {self.n_held_bytes} bytes of half messages, requests "
            f"and unread answers, limit {self.limits.max_held_bytes}; try again later, or have "
            "max_held_bytes raised",
            retry_after_ms=RETRY_AFTER_MS,
        )

    def response(self, connection: int, msgid: int | None, result: Any) -> bytes:
        """Encode a result; one that cannot be sent becomes the error that says why."""
        try:
            data = self._encoder.response(msgid, None, result)
        except Exception as error:
            return self.failure(connection, msgid, error)
        if len(data) > self.limits.max_response_bytes:
            return self.failure(
                connection,
                msgid,
                TooLarge(
                    f"the result has {len(data)} bytes, limit {self.limits.max_response_bytes}; "
                    "ask for less at once"
                ),
            )
        if len(data) > ALLOWANCE_BYTES and self.is_full:
            return self.failure(connection, msgid, self.overload())
        return data

    def failure(self, connection: int, msgid: int | None, error: BaseException) -> bytes:
        """Encode an error as :meth:`translate` gives it, with the id of the request."""
        request = request_id(connection, msgid)
        told = self.translate(error, request)
        self.traffic.errors[told.code] += 1
        log.debug("error answered", extra={"fields": {"code": told.code, "request": request}})
        wire = to_wire(told)
        wire["detail"] = {**told.detail, "request": request}
        try:
            return self._encoder.response(msgid, wire, None)
        except Exception:
            log.exception("the detail of an error could not be encoded")
            wire["detail"] = {"request": request}
            return self._encoder.response(msgid, wire, None)

    def translate(self, error: BaseException, request: str) -> BrainError:
        """Give what the peer is told: of an unforeseen error only the id of its log line."""
        if isinstance(error, BrainError):
            return error
        log.error("internal error", exc_info=error, extra={"fields": {"request": request}})
        return InternalError(
            f"internal error, request {request}: the daemon's log has the reason", request=request
        )

    def _schedule_sweep(self) -> None:
        limits = self.limits
        delay_s = min(
            _SWEEP_S,
            limits.message_timeout_s / 4,
            limits.call_timeout_s / 4,
            limits.write_timeout_s / 4,
        )
        self._sweep_timer = asyncio.get_running_loop().call_later(delay_s, self._sweep)

    def _sweep(self) -> None:
        now = monotonic()
        for connection in list(self._watched):
            with connection.cut_off_on_failure():
                if not connection.sweep(now):
                    self._watched.discard(connection)
        self._sweep_timer = None
        if self._watched:
            self._schedule_sweep()
