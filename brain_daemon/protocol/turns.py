"""Whose turn it is to be served, when more has arrived than one turn of the loop can answer.

Whoever just sent something comes before those whose earlier requests still wait, so that a hundred
clients with long pipelines hold up a single request by about one turn, not by a hundred. Layer:
protocol.
"""

from collections import deque
from time import monotonic
from typing import TYPE_CHECKING

from brain_daemon.protocol.soon import Soon

if TYPE_CHECKING:
    from brain_daemon.protocol.connection import Connection

TURN_S = 0.001
"""After this long one connection, or all newly heard ones, let the others have their turn."""

SHORT_TURN_S = TURN_S / 10
"""The same for each newly heard one while others wait."""


class Turns:
    """The connections that wait to be served, each once.

    Attributes
    ----------
    n_waiting : int
    """

    def __init__(self) -> None:
        self.n_waiting = 0
        self._heard: deque[Connection] = deque()
        self._served: deque[Connection] = deque()  # in part, and there is more
        self._go_on = Soon(self._advance)
        self._has_large_read = False  # in this turn of the loop
        self._forget_large_read = Soon(self._end_large_read)

    def allow_large_read(self) -> bool:
        """Allow one large read a turn of the loop to be looked at at once."""
        is_first, self._has_large_read = not self._has_large_read, True
        self._forget_large_read()
        return is_first

    def _end_large_read(self) -> None:
        self._has_large_read = False

    def join(self, connection: "Connection", *, was_served: bool) -> None:
        """Give a connection a turn: behind all others if it had one and wants more."""
        (self._served if was_served else self._heard).append(connection)
        self.n_waiting += 1
        self._go_on()

    def _advance(self) -> None:
        """Serve the newly heard, then one of those that were served in part.

        Then the loop looks for what has arrived, before it comes back.
        """
        began = monotonic()
        for _ in range(len(self._heard)):
            self._serve(self._heard.popleft(), SHORT_TURN_S)
            if monotonic() - began > TURN_S:
                break
        if self._served:
            self._serve(self._served.popleft(), TURN_S)
        if self.n_waiting:
            self._go_on()

    def _serve(self, connection: "Connection", turn_s: float) -> None:
        self.n_waiting -= 1
        with connection.cut_off_on_failure():
            connection.take_turn(turn_s)
