"""The operations of one store, called by several principals: dispatch, writer and index, no socket.

The daemon serves one user; what others may learn is tested here.
"""

import asyncio
from pathlib import Path
from typing import Any

from brain_daemon import config
from brain_daemon.model import Principal
from brain_daemon.policy.rules import ROLES
from brain_daemon.service.dispatch import Dispatcher
from brain_daemon.service.memory import Memory

USER_ROLES = frozenset({"reader", "writer"})
ALICE = Principal("alice", 1000, 1000, 1, USER_ROLES, scopes=("team",))
BOB = Principal("bob", 1001, 1001, 2, USER_ROLES, scopes=("team", "board"))
ADMIN = Principal("root", 0, 0, 3, ROLES)


class World:
    """A store in a folder, and whoever calls."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.memory = Memory(config.load({"store": str(folder), **settings}, {}))
        self._dispatcher = Dispatcher(self.memory)
        self._loop = asyncio.new_event_loop()

    def call(self, method: str, principal: Principal = ALICE, /, **params: Any) -> Any:
        """Call an operation as the socket would, and wait for its result."""

        async def answered() -> Any:
            result = self._dispatcher(method, params, principal, False)
            return await result if hasattr(result, "__await__") else result

        return self._loop.run_until_complete(answered())

    def at_once(self, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
        """Make write calls in one turn of the loop, so that they share a commit."""

        async def answered() -> list[Any]:
            futures = [self._dispatcher(name, params, ALICE, False) for name, params in calls]
            return list(await asyncio.gather(*futures))

        return self._loop.run_until_complete(answered())

    def remember(self, text: str, principal: Principal = ALICE, /, **params: Any) -> int:
        """Store a text of one chunk; the chunk's id."""
        (chunk_id,) = self.call("remember", principal, text=text, **params)["chunk_ids"]
        return int(chunk_id)

    def close(self) -> None:
        self._dispatcher.close()
        self.memory.close()
        self._loop.close()
