"""The sign of life that systemd waits for, given by the event loop itself."""

import asyncio
import logging
from collections.abc import Callable

from brain_daemon.daemon import systemd

log = logging.getLogger(__name__)

KICKS_PER_TIMEOUT = 3


class Watchdog:
    """Says ``WATCHDOG=1`` from a timer of the event loop, as long as the process is well.

    A loop that is blocked runs no timer, and what ``find_fault`` finds holds the sign of life
    back; in both cases systemd ends the process and starts another.

    Parameters
    ----------
    timeout_s : float
        After so long without a sign systemd acts.
    find_fault : callable
        Gives what is wrong with this process beyond repair, or None.
    """

    def __init__(self, timeout_s: float, find_fault: Callable[[], str | None]) -> None:
        self._interval_s = timeout_s / KICKS_PER_TIMEOUT
        self._find_fault = find_fault

    def start(self) -> None:
        """Give the first sign now, and the others from the running event loop."""
        fault = self._find_fault()
        if fault is not None:
            log.critical("%s; waiting for the watchdog to end this process", fault)
            systemd.notify(f"STATUS=failed: {fault}")
            return
        systemd.notify("WATCHDOG=1")
        asyncio.get_running_loop().call_later(self._interval_s, self.start)
