"""Clients that others wrote speak to the server as they are."""

import asyncio
import threading
from typing import Any

import aio_msgpack_rpc
import pytest
from pynvim import msgpack_rpc

from protocol.serving import Serving


def test_aio_msgpack_rpc(serving: Serving) -> None:
    async def use() -> list[Any]:
        reader, writer = await asyncio.open_unix_connection(str(serving.path))
        client = aio_msgpack_rpc.Client(reader, writer, response_timeout=30)
        results = [
            await client.call("ping"),
            await client.call("echo", {"q": "grüße", "k": 5}),
            *await asyncio.gather(*(client.call("later", {"i": i}) for i in range(20))),
        ]
        await client.notify("echo", {})
        with pytest.raises(Exception, match="no such thing"):
            await client.call("fail", {"with": "not_found"})
        client.close()
        await writer.wait_closed()
        return results

    results = asyncio.run(use())
    assert results[:2] == ["pong", {"q": "grüße", "k": 5}]
    assert results[2:] == [{"i": i} for i in range(20)]
    assert ("echo", True) in serving.calls


def test_pynvim(serving: Serving) -> None:
    def use() -> None:
        # pynvim makes an event loop of its own, in the thread that uses it
        session = msgpack_rpc.socket_session(str(serving.path))
        try:
            found.append(session.request("ping", {}))
            found.append(session.request("ping"))
            found.append(session.request("echo", {"q": "grüße", "k": 5}))
            session.notify("echo", {})
            try:
                session.request("fail", {"with": "not_found"})
            except Exception as error:
                found.append(error)
        finally:
            session.close()

    found: list[Any] = []
    thread = threading.Thread(target=use)
    thread.start()
    thread.join(30)
    assert found[:3] == ["pong", "pong", {"q": "grüße", "k": 5}]
    assert "no such thing" in str(found[3])
    assert ("echo", True) in serving.calls
