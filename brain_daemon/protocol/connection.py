"""One client's connection: requests in, answers out, and what it may hold of the server.

Here: the asyncio protocol with its back-pressure, deadlines and orderly ends. Not here: limits
and framing (``framing``), message shapes (``messages``), what is shared by all connections
(``server``). Layer: protocol.

Results that are there at once are answered in the same turn of the event loop, with one write
for all that a read brought; no task is made for them. What a connection holds beyond a small
allowance is counted for all of them together (``Server.is_full``).
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from brain_daemon import calls
from brain_daemon.errors import BrainError, DeadlineExceeded
from brain_daemon.model import PeerCredentials
from brain_daemon.protocol.awaited import Awaited, Deferred
from brain_daemon.protocol.framing import INCOMPLETE, LARGE, Framer, FramingLost, Undecodable
from brain_daemon.protocol.messages import Malformed, malformed_from, parse_call
from brain_daemon.protocol.peer import has_hung_up
from brain_daemon.protocol.turns import TURN_S

if TYPE_CHECKING:
    from brain_daemon.protocol.server import Server

log = logging.getLogger("brain_daemon.protocol")

MAX_ITEMS_AT_ONCE = 4096
"""Container entries above which a message is decoded in the lane, a slice at a time."""

MAX_PAIRS = 256
"""Entries of a map in a request: several times what any parameter takes.

A map of very many can neither be grown nor let go of bit by bit.
"""

MAX_BEGUN = 2
"""Deferred results of one connection that are worked out at once: they may be large."""

ALLOWANCE_BYTES = 64 * 1024
"""What each connection may hold without its counting for all of them together."""

LINGER_S = 2.0
"""How long bytes still arriving are thrown away after the last answer.

Closing at once would destroy that answer: a peer still sending gets EPIPE and stops reading.
"""

_FLUSH_BYTES = 64 * 1024
_LARGE_READ_BYTES = 32 * 1024  # what takes long to look at
_ITEM_BYTES = 64  # what an entry of a container becomes when it is decoded, besides its own bytes


class Connection(asyncio.Protocol):
    """Serve one peer; made by :meth:`Server.connect`, driven by the event loop."""

    __slots__ = (
        "_calls",
        "_can_write",
        "_framer",
        "_input_is_over",
        "_is_decoding",
        "_is_discarding",
        "_limits",
        "_linger_deadline",
        "_loop",
        "_message_deadline",
        "_n_begun",
        "_n_call_bytes",
        "_n_counted",
        "_n_unsent",
        "_number",
        "_paused_at",
        "_peer",
        "_principal",
        "_reading",
        "_refusal",
        "_server",
        "_transport",
        "_turn_is_due",
        "_write_deadline",
    )

    def __init__(self, server: "Server") -> None:
        limits = server.limits
        self._server = server
        self._number = server.traffic.accepted
        self._limits = limits
        self._framer = Framer(
            limits.max_message_bytes,
            limits.max_depth,
            limits.max_items,
            MAX_ITEMS_AT_ONCE,
            MAX_PAIRS,
        )
        self._loop = asyncio.get_running_loop()
        self._peer: PeerCredentials | None = None
        self._principal: Any = None  # None as long as it is not let in
        self._refusal: BrainError | None = None
        self._calls: dict[Awaited, None] = {}  # the oldest first
        self._n_call_bytes = 0
        self._n_begun = 0  # deferred calls under way
        self._n_counted = 0  # bytes counted for all connections together
        self._is_decoding = False  # in the lane
        self._reading = True
        self._paused_at = 0.0
        self._can_write = True
        self._turn_is_due = False  # queued, or running
        self._input_is_over = False  # what was fed is still served, unless framing was lost
        self._is_discarding = False
        self._message_deadline: float | None = None
        self._write_deadline = 0.0
        self._linger_deadline: float | None = None
        self._n_unsent = 0

    # ---- events of the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=self._limits.max_unsent_bytes)
        try:
            self._peer = self._server.admit(self, transport.get_extra_info("socket"))
            self._principal = self._server.authenticate(self._peer)
        except Exception as error:
            self._refuse(error)

    def data_received(self, data: bytes) -> None:
        if self._is_discarding:
            return
        self._server.traffic.received_bytes += len(data)
        self._framer.feed(data)
        self._ask_for_turn(len(data))

    def eof_received(self) -> bool:
        """Keep the writing half open while answers are due, if the peer can still read them."""
        self._input_is_over = True
        if not (self._calls or self._is_decoding or self._framer.has_unread):
            self._close()
            return False
        self.cut_off_if_gone()
        self._reading = False  # as the event loop has it from here on
        return True

    def pause_writing(self) -> None:
        self._can_write = False
        self._n_unsent = self._transport.get_write_buffer_size()
        self._write_deadline = monotonic() + self._limits.write_timeout_s
        self._server.watch(self)
        self._count()

    def resume_writing(self) -> None:
        self._can_write = True
        with self.cut_off_on_failure():
            self._count()
            self._begin_calls()
            self._ask_for_turn()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_discarding = True
        for call in self._calls:
            call.cancel()
        self._calls.clear()
        self._server.n_held_bytes -= self._n_counted
        self._leave()
        self._server.release(self)

    # ---- who is served

    def readmit(self) -> None:
        """Ask anew whether the peer is served, and as whom; calls under way end as they began."""
        if self._refusal is not None or self._peer is None or self._is_discarding:
            return
        self._leave()
        try:
            self._principal = self._server.authenticate(self._peer)
        except Exception as error:
            self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        # Told in answer to the next request, so that any client connects it with a call.
        self._server.traffic.refused += 1
        self._refusal = self._server.translate(error, str(self._number))
        self._message_deadline = monotonic() + self._limits.message_timeout_s
        self._server.watch(self)

    def _leave(self) -> None:
        if self._principal is not None:
            principal, self._principal = self._principal, None
            self._server.leave(principal)

    # ---- requests

    def _ask_for_turn(self, n_bytes: int = 0) -> None:
        if self._turn_is_due:
            return
        turns = self._server.turns
        if turns.n_waiting or (n_bytes >= _LARGE_READ_BYTES and not turns.allow_large_read()):
            self._turn_is_due = True
            turns.join(self, was_served=self._framer.in_message)
            self._regulate()  # what comes while it waits stays with the client
        else:
            self.take_turn(TURN_S)

    def take_turn(self, turn_s: float) -> None:
        """Serve what has been read, until it is used up, the bounds are met, or time is up."""
        if self._is_discarding:
            self._turn_is_due = False
            self._regulate()
            return
        self._turn_is_due = True
        framer = self._framer
        began = monotonic()
        answers: list[bytes] = []
        n_bytes = 0
        has_ended_one = False
        while framer.has_unread and self._can_serve():
            try:
                message = framer.next()
                if message is INCOMPLETE:
                    break
                if message is LARGE:
                    self._is_decoding = True
                    self._server.lane.join(self)
                    break
                answer = self._serve(message)
            except Undecodable as error:
                answer = self._reject(malformed_from(error))
            except FramingLost as error:
                answers.append(self._failure(None, error.error))
                self._discard()
                break
            has_ended_one = True
            if answer is not None:
                answers.append(answer)
                n_bytes += len(answer)
                if n_bytes >= _FLUSH_BYTES:
                    self._write(answers)
                    answers, n_bytes = [], 0
            if monotonic() - began > turn_s:
                break
        if answers:
            self._write(answers)
        self._turn_is_due = framer.has_unread and self._can_serve()
        if self._turn_is_due:
            self._server.turns.join(self, was_served=True)
        if not framer.in_message:
            if self._refusal is None:
                self._message_deadline = None
        elif not self._is_discarding:
            self._await_rest(began, has_ended_one)
        self._regulate()

    def _await_rest(self, now: float, has_begun: bool) -> None:
        """Bound the time and the memory that a message may take that has not ended."""
        if has_begun or self._message_deadline is None:
            self._message_deadline = now + self._limits.message_timeout_s
            self._server.watch(self)
        self._count()
        if self._n_counted and self._server.is_full:
            self._write([self._failure(None, self._server.overload())])
            self._discard()

    def slices(self) -> Iterator[Any]:
        """Decode the large message that waits, a slice at a time; for the lane."""
        return self._framer.slices()

    def take_decoded(self, message: Any) -> None:
        """Serve the large message, or the :class:`Undecodable` that it turned out to be."""
        self._is_decoding = False
        if isinstance(message, Undecodable):
            answer = self._reject(malformed_from(message))
        else:
            answer = self._serve(message)
        self._count()
        if answer is not None:
            self._write([answer])
        self._ask_for_turn()

    def _can_serve(self) -> bool:
        return not (
            not self._can_write
            or (self._calls and self._has_enough_calls())
            or self._is_decoding
            or self._is_discarding
        )

    def _has_enough_calls(self) -> bool:
        return (
            len(self._calls) >= self._limits.max_in_flight
            or self._n_call_bytes >= self._limits.max_in_flight_bytes
            or (self._n_counted > 0 and self._server.is_full)
        )

    def _serve(self, message: Any) -> bytes | None:
        """Carry out one message; give the answer if it is there at once."""
        server = self._server
        try:
            msgid, method, params = parse_call(message)
        except Malformed as error:
            return self._reject(error)
        if self._refusal is not None:
            self._discard()
            # The nil id says that whatever else was sent is not carried out either.
            last = self._failure(None, self._refusal)
            return last if msgid is None else self._failure(msgid, self._refusal) + last
        token = calls.current.set(calls.Call(self._number, msgid))
        try:
            result = server.dispatch(method, params, self._principal, msgid is None)
        except Exception as error:
            return self._give(msgid, self._failure(msgid, error))
        finally:
            calls.current.reset(token)
        if type(result) is dict or not hasattr(result, "__await__"):
            return None if msgid is None else server.response(self._number, msgid, result)
        framer = self._framer
        call = Awaited(
            msgid,
            monotonic() + self._limits.call_timeout_s,
            framer.n_message_bytes + _ITEM_BYTES * framer.n_items,
            result if isinstance(result, Deferred) else None,
        )
        self._calls[call] = None
        self._n_call_bytes += call.n_bytes
        self._server.watch(self)
        if call.deferred is None:
            self._await(call, asyncio.ensure_future(result, loop=self._loop))
        else:
            self._begin_calls()
        self._count()
        return None

    def _begin_calls(self) -> None:
        """Begin what is deferred, the oldest first, and nothing while its result could not go."""
        for call in self._calls:
            if self._n_begun >= MAX_BEGUN or not self._can_write:
                break
            if call.future is None and call.deferred is not None:
                self._n_begun += 1
                self._await(call, call.deferred.begin())

    def _await(self, call: Awaited, future: asyncio.Future[Any]) -> None:
        def answer(future: asyncio.Future[Any]) -> None:
            with self.cut_off_on_failure():
                self._answer(call, future)

        call.future = future
        future.add_done_callback(answer)

    def _reject(self, malformed: Malformed) -> bytes | None:
        if malformed.foreign:
            self._discard()
        if malformed.notification:
            log.debug("a notification was not understood: %s", malformed.error.code)
            return None
        return self._failure(malformed.msgid, malformed.error)

    def _failure(self, msgid: int | None, error: BaseException) -> bytes:
        return self._server.failure(self._number, msgid, error)

    @staticmethod
    def _give(msgid: int | None, answer: bytes) -> bytes | None:
        return None if msgid is None else answer

    def _answer(self, call: Awaited, future: asyncio.Future[Any]) -> None:
        """Send the outcome of an awaited call."""
        if call not in self._calls:  # it came too late: its deadline or the connection has passed
            if not future.cancelled():
                future.exception()
            return
        self._forget(call)
        try:
            result = future.result()
        except (Exception, asyncio.CancelledError) as error:
            answer = self._failure(call.msgid, error)
        else:
            answer = self._server.response(self._number, call.msgid, result)
        if call.msgid is not None:
            self._write([answer])
        self._count()
        self._begin_calls()
        if not self._reading and not self._turn_is_due:
            self._ask_for_turn()
        else:
            self._regulate()

    def _forget(self, call: Awaited) -> None:
        del self._calls[call]
        self._n_call_bytes -= call.n_bytes
        if call.deferred is not None and call.future is not None:
            self._n_begun -= 1

    def _write(self, answers: list[bytes]) -> None:
        if not self._transport.is_closing():
            data = answers[0] if len(answers) == 1 else b"".join(answers)
            self._server.traffic.sent_bytes += len(data)
            self._transport.write(data)

    # ---- back-pressure, deadlines and ends

    def _count(self) -> None:
        """Count what this connection holds for all of them together."""
        n_bytes = self._framer.n_held_bytes + self._n_call_bytes
        if not self._can_write:
            n_bytes += self._transport.get_write_buffer_size()
        n_counted = max(0, n_bytes - ALLOWANCE_BYTES)
        self._server.n_held_bytes += n_counted - self._n_counted
        self._n_counted = n_counted

    def _regulate(self) -> None:
        """Read on only when all that was read is served; close when nothing is left to do."""
        if self._input_is_over and not self._calls and not self._is_decoding:
            if self._is_discarding:
                self._linger()
                return
            if not self._framer.has_unread:
                self._close()
                return
        wanted = self._is_discarding or not (
            self._input_is_over
            or self._framer.has_unread
            or self._is_decoding
            or not self._can_write
            or (self._calls and self._has_enough_calls())
        )
        if wanted is self._reading or self._transport.is_closing():
            return
        self._reading = wanted
        if not wanted:
            self._paused_at = monotonic()
            self._transport.pause_reading()
            return
        if self._message_deadline is not None:  # it had no chance to send the rest meanwhile
            self._message_deadline += monotonic() - self._paused_at
        self._transport.resume_reading()

    def _discard(self) -> None:
        """Take no further request; the calls begun are still answered."""
        self._is_discarding = self._input_is_over = True
        self._message_deadline = None
        self._framer.clear()
        self._server.lane.leave(self)
        self._is_decoding = False
        self._count()

    def _close(self) -> None:
        """Close when all is sent, for which the peer has as long as ever."""
        self._transport.close()
        if self._can_write and self._transport.get_write_buffer_size():
            self.pause_writing()

    def _linger(self) -> None:
        # One that is gone may still have had its turn to come.
        if self._linger_deadline is None and not self._transport.is_closing():
            self._linger_deadline = monotonic() + LINGER_S
            self._server.watch(self)
            if not self._reading:
                self._reading = True
                self._transport.resume_reading()
            if not self._transport.is_closing():  # reading may have found the peer gone
                self._transport.write_eof()

    def drain(self) -> None:
        """Answer what has been read, then close."""
        self._input_is_over = True
        self._regulate()

    def abort(self) -> None:
        """Close at once; what is unsent is lost."""
        self._transport.abort()

    def cut_off_if_gone(self) -> bool:
        """Close at once if the peer can read no answer; who is not read from is not heard to go."""
        is_gone = has_hung_up(self._transport.get_extra_info("socket"))
        if is_gone:
            self.abort()
        return is_gone

    @contextmanager
    def cut_off_on_failure(self) -> Iterator[None]:
        """Close at once if what is done for this connection fails; others go on."""
        try:
            yield
        except Exception:
            log.exception("a connection could not be served")
            self.abort()

    def sweep(self, now: float) -> bool:
        """Enforce the deadlines; the server calls this a few times per shortest deadline.

        Returns
        -------
        bool
            Whether there are any.
        """
        if self._linger_deadline is not None and now >= self._linger_deadline:
            self.abort()
            return True
        if not self._can_write:
            n_unsent = self._transport.get_write_buffer_size()
            if n_unsent < self._n_unsent:
                self._write_deadline = now + self._limits.write_timeout_s
            elif now >= self._write_deadline:
                log.warning(
                    "cut off a client that read no answer for %g s: pid %s, %d bytes unsent",
                    self._limits.write_timeout_s,
                    self._peer and self._peer.pid,
                    n_unsent,
                )
                self.abort()
                return True
            self._n_unsent = n_unsent
        self._expire_calls(now)
        if self._message_deadline is not None and self._reading and now >= self._message_deadline:
            self._discard()
            error = self._refusal or DeadlineExceeded(
                f"a message must be whole within {self._limits.message_timeout_s:g} s"
            )
            if self._can_write:
                self._write([self._failure(None, error)])
            self._regulate()
        return bool(
            self._calls
            or not self._can_write
            or self._message_deadline is not None
            or self._linger_deadline is not None
        )

    def _expire_calls(self, now: float) -> None:
        expired = []
        for call in self._calls:
            if call.deadline > now:
                break
            if call.future is None or not call.future.done():
                expired.append(call)
        for call in expired:
            self._forget(call)
            call.cancel()
            if call.msgid is not None:
                error = DeadlineExceeded(f"no result in {self._limits.call_timeout_s:g} s")
                self._write([self._failure(call.msgid, error)])
        if expired:
            self._count()
            self._begin_calls()
            self._ask_for_turn()
