"""What is to be done in the next turn of the event loop, once. Layer: protocol."""

import asyncio
from collections.abc import Callable


class Soon:
    """Have a function called in the next turn of the loop, however often that is asked for.

    One that asks for itself again must not come to be queued twice: the two would be four in the
    turn after, and the loop would look for nothing else any more.
    """

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self._is_queued = False

    def __call__(self) -> None:
        if not self._is_queued:
            self._is_queued = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        self._is_queued = False
        self._function()
