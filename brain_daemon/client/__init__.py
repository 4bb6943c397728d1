"""Clients of the daemon: ``Client`` blocks, ``AsyncClient`` awaits.

Layer: beside the server, above protocol; imports neither NumPy nor a database nor a model.
"""

from typing import TYPE_CHECKING, Any

from brain_daemon.client.sync import Client

if TYPE_CHECKING:
    from brain_daemon.client.aio import AsyncClient

__all__ = ["AsyncClient", "Client"]


def __getattr__(name: str) -> Any:
    """Import ``AsyncClient`` when asked for: asyncio would double a command's start-up time."""
    if name == "AsyncClient":
        from brain_daemon.client.aio import AsyncClient

        return AsyncClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
