"""What is counted and timed while calls are served, for the exposition and for the log.

Written by the event loop's thread alone, so there are no locks. Not here: what can be looked up
when it is asked for, and the format (``exposition``). No text of a memory or a query comes here.
"""

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from brain_daemon.calls import Call
from brain_daemon.protocol.traffic import Traffic

DURATIONS_NS = tuple(
    round(seconds * 1e9)
    for seconds in (
        *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
        *(0.1, 0.25, 0.5, 1, 2.5, 10),
    )
)
"""Upper bounds of the durations that are told apart."""

SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Upper bounds of the sizes of a commit that are told apart."""


class Histogram:
    """How many values fell up to each bound, and their sum.

    Parameters
    ----------
    bounds : sequence of int
        Ascending and inclusive; what is larger than the last has a bucket of its own.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[int]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0

    def observe(self, value: int) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


def _durations() -> Histogram:
    return Histogram(DURATIONS_NS)


class Metrics:
    """The figures of one process; they survive a store that is opened anew.

    Attributes
    ----------
    traffic : Traffic
        Counted by the protocol layer.
    durations : dict of str to Histogram
        Of the calls of each operation that was called, failed ones included, from their parameters
        to their result; nanoseconds.
    failed : Counter of str
        Calls that ended in an error, by operation.
    legs : dict of str to Histogram
        Of each leg of the recalls, nanoseconds.
    legs_failed, decisions : Counter of str
        Legs that failed, by name; recalls by ``decision``.
    in_flight, slow : int
        Calls that are waited for; calls slower than ``slow_call_ms``.
    """

    def __init__(self) -> None:
        self.started_at = time.monotonic()
        self.traffic = Traffic()
        self.durations: defaultdict[str, Histogram] = defaultdict(_durations)
        self.failed: Counter[str] = Counter()
        self.legs: defaultdict[str, Histogram] = defaultdict(_durations)
        self.legs_failed: Counter[str] = Counter()
        self.decisions: Counter[str] = Counter()
        self.in_flight = 0
        self.slow = 0

    def note_recall(self, leg_ns: Mapping[str, int], answer: Mapping[str, Any]) -> None:
        """Take in what one recall was."""
        self.decisions[answer["decision"]] += 1
        told = answer["legs"]
        for name, nanoseconds in leg_ns.items():
            leg = self.legs[name]  # as `observe` does, without a call
            leg.counts[bisect_left(DURATIONS_NS, nanoseconds)] += 1
            leg.total += nanoseconds
            if told[name]["status"] == "failed":
                self.legs_failed[name] += 1


def figures(call: Call | None, result: Any) -> dict[str, Any]:
    """Give what a line of the log may say of a result: numbers, and how long its lists are."""
    told: dict[str, Any] = {}
    if call is not None and call.leg_ns is not None:
        told |= {f"{leg}_ms": taken / 1e6 for leg, taken in call.leg_ns.items()}
    if isinstance(result, dict):
        for name, value in result.items():
            if isinstance(value, bool | int | float):
                told[name] = value
            elif isinstance(value, list):
                told[f"n_{name}"] = len(value)
    return told
