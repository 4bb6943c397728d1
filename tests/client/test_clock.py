"""A client's time-outs are those of the monotonic clock: the wall clock may jump as it likes."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faked_clock import DAY_S, Clock

TIMEOUT_S = 1.5

_SCRIPT = """
import asyncio, sys, time
from brain_daemon.client import AsyncClient, Client
from brain_daemon.errors import BrainError

kind, path, timeout_s = sys.argv[1], sys.argv[2], float(sys.argv[3])

async def call():
    async with AsyncClient(path, timeout_s=timeout_s) as client:
        await client.call("remember", text="x")

def block():
    with Client(path, timeout_s=timeout_s) as client:
        client.call("remember", text="x")

wall, monotonic = time.time(), time.monotonic()
try:
    asyncio.run(call()) if kind == "AsyncClient" else block()
except BrainError as error:
    print(error.code, time.monotonic() - monotonic, time.time() - wall)
"""


@pytest.mark.parametrize("jump_s", [DAY_S, -DAY_S])
@pytest.mark.parametrize("kind", ["Client", "AsyncClient"])
def test_a_call_waits_as_long_as_it_says(tmp_path: Path, kind: str, jump_s: int) -> None:
    clock = Clock(tmp_path)
    path = tmp_path / "mute"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(60)
        process = subprocess.Popen(
            [sys.executable, "-c", _SCRIPT, kind, str(path), str(TIMEOUT_S)],
            env={**os.environ, **clock.environment},
            stdout=subprocess.PIPE,
            text=True,
        )
        served, _ = listener.accept()
        with served:
            served.settimeout(60)
            assert served.recv(100)  # the call has arrived
            clock.jump(jump_s)
            served.sendall(b"\x94")  # the first byte of an answer, so that it waits anew
            told, _ = process.communicate(timeout=60)
    code, waited_s, wall_s = told.split()
    assert code == "deadline_exceeded"
    assert float(waited_s) + 0.01 >= TIMEOUT_S
    assert abs(float(wall_s) - float(waited_s) - jump_s) < 5  # the client's own clock did jump
