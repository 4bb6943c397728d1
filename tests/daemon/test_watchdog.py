"""The watchdog is kicked by a loop that turns and a process that is well, and by nothing else."""

import asyncio
import os
import signal
import socket
from pathlib import Path

import pytest

from brain_daemon.daemon.watchdog import KICKS_PER_TIMEOUT, Watchdog
from tests.daemon.activation import Activated, ask


@pytest.fixture
def channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind(str(tmp_path / "notify"))
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    return listening


def test_kicks_until_a_fault_is_found(channel: socket.socket) -> None:
    findings = iter([None, None, "the writer thread has ended"])
    told = []

    async def run() -> None:
        Watchdog(0.03, lambda: next(findings)).start()
        while True:  # the loop turns on, yet nothing comes any more
            told.append(await asyncio.get_running_loop().run_in_executor(None, channel.recv, 200))

    channel.settimeout(1.0)
    with channel, pytest.raises(TimeoutError):
        asyncio.run(run())
    assert told == [b"WATCHDOG=1", b"WATCHDOG=1", b"STATUS=failed: the writer thread has ended"]


BLOCKING = """
import signal, time
signal.signal(signal.SIGUSR1, lambda *_: time.sleep(3600))
"""


def messages_until_silent(channel: socket.socket, silence_s: float) -> list[bytes]:
    channel.settimeout(silence_s)
    found = []
    try:
        while True:
            found.append(channel.recv(200))
    except TimeoutError:
        return found


def test_blocked_loop_gives_no_sign_of_life_and_says_where_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "blocking"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BLOCKING)
    timeout_s = 1.5
    with Activated(
        tmp_path,
        WATCHDOG_USEC=str(int(timeout_s * 1e6)),
        PYTHONPATH=os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
    ) as daemon:
        daemon.spawn()
        daemon.wait_notified("READY=1")
        for _ in range(3):
            daemon.wait_notified("WATCHDOG=1")
        assert ask(daemon, "ping") == "pong"
        assert daemon.process is not None
        daemon.process.send_signal(signal.SIGUSR1)
        late = messages_until_silent(daemon.channel, timeout_s)
        assert len(late) <= KICKS_PER_TIMEOUT
        daemon.process.send_signal(signal.SIGABRT)  # as systemd does then
        assert daemon.process.wait(timeout=30) == -signal.SIGABRT
        assert "sitecustomize.py" in daemon.log.read_text()
