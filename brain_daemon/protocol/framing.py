"""From a byte stream to decoded messages, within limits.

Here: the limits of a connection and the framer that both ends use. Not here: what a message
means (``messages``), and sockets (``connection``). Layer: protocol, above the kernel that scans.

The kernel finds the end of a message and refuses what is too long, too deep or too numerous
before it has arrived; only then is the message decoded, in one call. One of very many entries takes
long to decode: its receiver may do that a slice at a time.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import msgpack

from brain_daemon._ext.framing import (
    UNBOUNDED,
    FramingError,
    Splitter,
    TooManyBytes,
    TooManyItems,
)
from brain_daemon.errors import BadRequest, BrainError, TooLarge

INCOMPLETE: Any = object()
"""What :meth:`Framer.next` gives when the bytes fed so far hold no further whole message."""

LARGE: Any = object()
"""What :meth:`Framer.next` gives for a message that :meth:`Framer.slices` is to decode."""

SLICE_BYTES = 8 * 1024  # at most half a millisecond

_HEAD_BYTES = 32  # more than an array header and two integers take


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one connection, and all together, may ask of the server.

    Parameters
    ----------
    max_message_bytes : int
        Longest request, in bytes.
    max_depth : int
        Most containers within one another in a request, 1 to 256; the request's own array is one.
    max_items : int
        Most container entries in a request; a map's key and value count as two.
    max_response_bytes : int
        Longest response, in bytes.
    max_in_flight : int
        Calls of one connection whose results are awaited; above it nothing more is read from it.
    max_in_flight_bytes : int
        Bytes of the requests of such calls, and 64 for each container entry, above which likewise.
    max_unsent_bytes : int
        Unsent response bytes of one connection above which no further request of it is begun,
        and which count for all of them together.
    max_held_bytes : int
        Bytes of half messages, awaited calls and unsent responses of all connections together, but
        for the first 64 KiB of each; above it no more of them is taken on.
    max_connections : int
        Connections served at once; those above are told `Overloaded`.
    message_timeout_s : float
        Seconds from the first byte of a message to its last.
    call_timeout_s : float
        Seconds an awaited result may take.
    write_timeout_s : float
        Seconds for which a peer may read nothing of what waits for it.

    Raises
    ------
    ValueError
        If a limit is not positive.
    """

    max_message_bytes: int = 8 * 1024 * 1024
    max_depth: int = 32
    max_items: int = 100_000
    max_response_bytes: int = 8 * 1024 * 1024
    max_in_flight: int = 64
    max_in_flight_bytes: int = 2 * 1024 * 1024
    max_unsent_bytes: int = 64 * 1024
    max_held_bytes: int = 64 * 1024 * 1024
    max_connections: int = 256
    message_timeout_s: float = 10.0
    call_timeout_s: float = 30.0
    write_timeout_s: float = 30.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ValueError(f"{field.name} is {value}, must be above 0")


class FramingLost(Exception):
    """The end of the message is unknown, so nothing after it can be read either.

    Parameters
    ----------
    error : BrainError
        What the peer is to be told.
    """

    def __init__(self, error: BrainError) -> None:
        super().__init__(error.message)
        self.error = error


class Undecodable(Exception):
    """One message, whole and within limits, that is not what we accept as msgpack.

    Parameters
    ----------
    kind, msgid : object
        Its first two entries, as far as they could be read; else None.
    reason : str
        What is wrong with it.
    """

    def __init__(self, kind: Any, msgid: Any, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.msgid = msgid
        self.reason = reason


class Framer(Splitter):
    """Cut a stream into decoded messages, one at a time.

    Bytes are taken in by ``feed`` and messages out by :meth:`next`, so that a caller under
    back-pressure can leave whole messages unread.

    Parameters
    ----------
    max_bytes, max_depth, max_items : int
        As in :class:`Limits`.
    max_items_at_once : int
        Container entries above which a message is :data:`LARGE`.
    max_pairs : int
        Most entries of one map.
    """

    __slots__ = ("_large", "_max_items_at_once")

    def __init__(
        self,
        max_bytes: int,
        max_depth: int,
        max_items: int,
        max_items_at_once: int = UNBOUNDED,
        max_pairs: int = UNBOUNDED,
    ) -> None:
        super().__init__(max_bytes, max_depth, max_items, max_pairs)
        self._max_items_at_once = max_items_at_once
        self._large: bytes | bytearray | memoryview = b""

    @property
    def n_held_bytes(self) -> int:
        """Length of the message that has not ended, or is :data:`LARGE`."""
        return self.n_partial_bytes or len(self._large)

    def clear(self) -> None:
        """Let go of all bytes; nothing may be fed any more."""
        super().clear()
        self._large = b""

    def next(self) -> Any:
        """Give the next message, decoded.

        Returns
        -------
        object
            The message, or ``INCOMPLETE``, or ``LARGE``: then :meth:`slices` gives it.

        Raises
        ------
        FramingLost
            A limit is broken or the bytes are not msgpack. The framer is of no further use.
        Undecodable
            The message is skipped: invalid UTF-8, a map key that is not a string, an extension
            type (timestamps are one).
        """
        try:
            message = self.cut()
        except FramingError as error:
            raise FramingLost(_explain(error)) from None
        if message is None:
            return INCOMPLETE
        if self.extension:
            raise Undecodable(*_peek(message), "extension types are not accepted")
        # Each entry takes a byte, so that most messages are not asked how many they have.
        if len(message) > self._max_items_at_once < self.n_items:
            self._large = message
            return LARGE
        try:
            return msgpack.unpackb(message, raw=False, strict_map_key=True)
        except (ValueError, TypeError) as error:
            raise Undecodable(*_peek(message), str(error)) from None

    def slices(self) -> Iterator[Any]:
        """Decode the message that is ``LARGE``, :data:`SLICE_BYTES` of it at a time.

        Yields
        ------
        object
            ``INCOMPLETE`` after each slice but the last, and then the message.

        Raises
        ------
        Undecodable
            As in :meth:`next`.
        """
        message, self._large = self._large, b""
        unpacker = msgpack.Unpacker(
            raw=False, strict_map_key=True, max_buffer_size=len(message) + SLICE_BYTES
        )
        for start in range(0, len(message), SLICE_BYTES):
            unpacker.feed(message[start : start + SLICE_BYTES])
            try:
                decoded = unpacker.unpack()
            except msgpack.OutOfData:
                yield INCOMPLETE
            except (ValueError, TypeError) as error:
                raise Undecodable(*_peek(message), str(error)) from None
            else:
                yield decoded


def _explain(error: FramingError) -> BrainError:
    if isinstance(error, TooManyBytes | TooManyItems):
        return TooLarge(f"{error}; send less at once")
    return BadRequest(f"not a msgpack-RPC message: {error}")


def _peek(message: bytes | bytearray | memoryview) -> tuple[Any, Any]:
    """Read the first two entries of a message whose rest cannot be decoded."""
    unpacker = msgpack.Unpacker()
    unpacker.feed(message[:_HEAD_BYTES])
    found: list[Any] = []
    try:
        for _ in range(min(2, unpacker.read_array_header())):
            found.append(unpacker.unpack())
    except (ValueError, msgpack.UnpackException):
        pass
    kind, msgid, *_ = [*found, None, None]
    return kind, msgid
