"""Where large messages are decoded: one at a time for all connections, a slice a turn of the loop.

A message of a quarter of a megabyte can hold a quarter of a million containers, take tens of
milliseconds to decode, and become a hundred times as large. So neither their number nor that of the
connections that send them holds others up for longer than a slice takes, or multiplies the memory.
Layer: protocol.
"""

import gc
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from brain_daemon.protocol.framing import INCOMPLETE, Undecodable
from brain_daemon.protocol.soon import Soon

if TYPE_CHECKING:
    from brain_daemon.protocol.connection import Connection


class Lane:
    """The connections whose next message is large, the first come first."""

    def __init__(self) -> None:
        self._waiting: dict[Connection, None] = {}
        self._slices: Iterator[Any] | None = None  # of the first one's message
        self._go_on = Soon(self._advance)

    def join(self, connection: "Connection") -> None:
        """Have a connection's large message decoded when it is its turn."""
        self._waiting[connection] = None
        self._go_on()

    def leave(self, connection: "Connection") -> None:
        """Forget a connection that is gone."""
        if connection in self._waiting:
            if connection is next(iter(self._waiting)):
                self._slices = None
            del self._waiting[connection]

    def _advance(self) -> None:
        if not self._waiting:
            return
        first = next(iter(self._waiting))
        if first.cut_off_if_gone():
            self.leave(first)
        else:
            self._decode(first)
        if self._waiting:
            self._go_on()

    def _decode(self, first: "Connection") -> None:
        with first.cut_off_on_failure():
            if self._slices is None:
                self._slices = first.slices()
            try:
                message = _decode_slice(self._slices)
            except Undecodable as error:
                message = error
            if message is not INCOMPLETE:
                self.leave(first)
                first.take_decoded(message)


def _decode_slice(slices: Iterator[Any]) -> Any:
    # Every few hundred new containers would have the collector look at all of them again.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return next(slices)
    finally:
        if was_enabled:
            gc.enable()
