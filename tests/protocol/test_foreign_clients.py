"""Clients that others wrote speak to the server as they are."""

import asyncio
import json
import subprocess
import sys
from typing import Any

import aio_msgpack_rpc
import pytest

from tests.protocol.serving import TIMEOUT_S, Serving


def test_aio_msgpack_rpc(serving: Serving) -> None:
    async def use() -> list[Any]:
        reader, writer = await asyncio.open_unix_connection(str(serving.path))
        client = aio_msgpack_rpc.Client(reader, writer, response_timeout=TIMEOUT_S)
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


# A process of its own: pynvim switches greenlets and leaves its socket to the garbage collector.
PYNVIM = """
import json, sys
from pynvim.msgpack_rpc import socket_session

session = socket_session(sys.argv[1])
session.error_wrapper = lambda error: ValueError(error["message"])  # Neovim's errors are lists
found = [
    session.request("ping"),
    session.request("ping", {}),
    session.request("echo", {"q": "grüße", "k": 5}),
    session.request("later", {"i": 1}),
]
session.request("echo", {}, async_=True)
try:
    session.request("fail", {"with": "not_found"})
except ValueError as error:
    found.append(str(error))
print(json.dumps(found))
"""


def test_pynvim(serving: Serving) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PYNVIM, str(serving.path)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        "pong",
        "pong",
        {"q": "grüße", "k": 5},
        {"i": 1},
        "no such thing",
    ]
    assert ("echo", True) in serving.calls
