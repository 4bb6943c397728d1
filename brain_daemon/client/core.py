"""What both clients share, free of input and output: bytes in, outcomes out.

Here: message ids, the table of calls that wait, how a connection's end is told to them, and the
attempts to connect. Not here: sockets that are read or waited for (``sync``, ``aio``).
Layer: client.
"""

import errno
import itertools
import os
import socket
from collections.abc import Generator
from pathlib import Path
from time import monotonic
from typing import Any, Generic, TypeVar

from brain_daemon.errors import BadRequest, BrainError, ConnectionLost, from_wire
from brain_daemon.protocol.framing import INCOMPLETE, Framer, FramingLost, Undecodable
from brain_daemon.protocol.messages import MAX_MSGID, RESPONSE, Encoder

CONNECT_WINDOW_S = 2.0
"""How long a connection is tried for while a daemon starts anew or its backlog is full."""

# The daemon is trusted to bound its answers; these only keep a broken one from filling memory.
_MAX_BYTES = 1 << 30
_MAX_DEPTH = 256
_MAX_ITEMS = 100_000_000

_FIRST_DELAY_S = 0.005
_LAST_DELAY_S = 0.1

Token = TypeVar("Token")


class Core(Generic[Token]):
    """The state of one connection.

    Attributes
    ----------
    pending : dict of int to Token
        The calls that wait, by message id, in the order of sending. A token is the caller's own.
    fault : BrainError or None
        Why the daemon is ending the connection, once it said so. What is still pending when the
        stream ends was not carried out.
    """

    def __init__(self) -> None:
        self.pending: dict[int, Token] = {}
        self.fault: BrainError | None = None
        self._framer = Framer(_MAX_BYTES, _MAX_DEPTH, _MAX_ITEMS)
        self._encoder = Encoder()
        self._last_msgid = 0

    def request(self, token: Token, method: str, params: dict[str, Any]) -> bytes:
        """Begin a call: give the bytes to send and await its answer.

        Raises
        ------
        BadRequest
            If a parameter cannot be sent, such as an integer beyond 64 bits.
        """
        msgid = (self._last_msgid + 1) & MAX_MSGID
        while msgid in self.pending:
            msgid = (msgid + 1) & MAX_MSGID
        try:
            data = self._encoder.request(msgid, method, params)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise BadRequest(f"the parameters of {method} cannot be sent: {error}") from error
        self._last_msgid = msgid
        self.pending[msgid] = token
        return data

    def receive(self, data: bytes) -> list[tuple[Token, Any]]:
        """Take in bytes; give the calls that they answer, each with its result or BrainError.

        Raises
        ------
        ConnectionLost
            If the bytes are not the daemon's protocol.
        """
        self._framer.feed(data)
        outcomes: list[tuple[Token, Any]] = []
        while True:
            try:
                message = self._framer.next()
            except (FramingLost, Undecodable) as reason:
                raise ConnectionLost(f"the peer does not speak msgpack-RPC: {reason}") from reason
            if message is INCOMPLETE:
                return outcomes
            if type(message) is not list or len(message) != 4 or message[0] != RESPONSE:
                raise ConnectionLost("the peer does not speak msgpack-RPC")
            _, msgid, error, result = message
            if msgid is None:
                self.fault = from_wire(error)
            elif type(msgid) is int and msgid in self.pending:
                token = self.pending.pop(msgid)
                outcomes.append((token, result if error is None else from_wire(error)))


def lost(method: str, path: Path, *, repeatable: bool) -> ConnectionLost:
    """Say that the answer to a call will not come."""
    doubt = "" if repeatable else "; it may have been carried out: look before you repeat it"
    return ConnectionLost(
        f"the daemon at {path} went away before it answered {method}{doubt}", method=method
    )


def dial(path: Path, *, again: bool) -> Generator[float, None, socket.socket]:
    """Connect, with retries: yields the seconds to wait before the next attempt.

    Parameters
    ----------
    again : bool
        Whether a connection existed before, so that a missing socket means a restart.

    Returns
    -------
    socket.socket
        Connected, non-blocking.

    Raises
    ------
    ConnectionLost
        Its cause is the OSError.
    """
    passing = {errno.EAGAIN, errno.ECONNREFUSED} | ({errno.ENOENT} if again else set())
    deadline = monotonic() + CONNECT_WINDOW_S
    for attempt in itertools.count():
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.connect(os.fspath(path))
        except OSError as error:
            sock.close()
            if error.errno not in passing or monotonic() >= deadline:
                reason = error.strerror or str(error)
                raise ConnectionLost(
                    f"cannot reach a daemon at {path}: {reason}; is `brain-daemon serve` running?"
                ) from error
        else:
            return sock
        yield min(_FIRST_DELAY_S * 2**attempt, _LAST_DELAY_S)
    raise AssertionError("unreachable")
