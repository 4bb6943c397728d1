"""Calls whose results are awaited, and results that nobody has begun to work out yet.

Layer: protocol.
"""

import asyncio
from collections.abc import Callable, Generator
from typing import Any


class Deferred:
    """What gives a result once it is begun. It is begun or dropped, once.

    For results that may be large: who carries the call decides when there is room for another.

    Parameters
    ----------
    begin : callable
        Begins, and gives the future of the result.
    drop : callable
        Called instead when the result is not wanted any more.
    """

    __slots__ = ("begin", "drop")

    def __init__(self, begin: Callable[[], asyncio.Future[Any]], drop: Callable[[], None]) -> None:
        self.begin = begin
        self.drop = drop

    def __await__(self) -> Generator[Any, None, Any]:
        return self.begin().__await__()


class Awaited:
    """A call whose result is awaited; ``future`` is None until it is begun."""

    __slots__ = ("deadline", "deferred", "future", "msgid", "n_bytes")

    def __init__(
        self, msgid: int | None, deadline: float, n_bytes: int, deferred: Deferred | None
    ) -> None:
        self.msgid = msgid
        self.deadline = deadline
        self.n_bytes = n_bytes
        self.deferred = deferred
        self.future: asyncio.Future[Any] | None = None

    def cancel(self) -> None:
        """Stop it, unless others may resolve what it waits for."""
        if isinstance(self.future, asyncio.Task):
            self.future.cancel()
        elif self.future is None and self.deferred is not None:
            self.deferred.drop()
