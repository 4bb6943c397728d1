"""The real daemon as a process, under a test's control."""

import atexit
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from brain_daemon.client import Client

_spawned: list[subprocess.Popen[bytes]] = []
atexit.register(lambda: [process.kill() for process in _spawned if process.poll() is None])

ROOT = Path(__file__).resolve().parent.parent
START_TIMEOUT_S = 60


class Daemon:
    """A ``brain-daemon serve`` process on its own store and socket, under the test's control."""

    def __init__(self, folder: Path, **environment: str) -> None:
        folder.mkdir(exist_ok=True)
        self.store = folder / "store"
        self.socket = folder / "run" / "brain.sock"
        self.log = folder / "daemon.log"
        self.environment = environment
        self.wrapper: list[str] = []  # a program that starts the daemon and becomes it
        self.process: subprocess.Popen[bytes] | None = None
        self._notify_path = folder / "notify.sock"

    def start(self, *options: str) -> "Daemon":
        """Start and wait for its own READY, as systemd would."""
        with self.ready_channel() as channel:
            self.process = self.spawn(*options)
            self.wait_ready(channel)
        return self

    def ready_channel(self) -> socket.socket:
        """Listen where processes spawned from now on notify."""
        self._notify_path.unlink(missing_ok=True)
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        channel.bind(os.fspath(self._notify_path))
        channel.settimeout(START_TIMEOUT_S)
        return channel

    def wait_ready(self, channel: socket.socket) -> None:
        try:
            while b"READY=1" not in channel.recv(4096):
                pass
        except TimeoutError:
            raise AssertionError(f"no READY: {self.log.read_text()}") from None

    def spawn(self, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start one more process on the same store and socket, without waiting."""
        command = [*self.wrapper, sys.executable, "-m", "brain_daemon.daemon.main", "serve"]
        command += ["--store", os.fspath(self.store), "--socket", os.fspath(self.socket)]
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [*command, *options],
                env={
                    **os.environ,
                    "NOTIFY_SOCKET": os.fspath(self._notify_path),
                    **self.environment,
                    **environment,
                },
                stdout=log,
                stderr=subprocess.PIPE if "PIPE" in environment else log,
            )
        _spawned.append(process)  # a failed test may leave it running
        return process

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def client(self, **options: Any) -> Client:
        return Client(self.socket, **options)

    def cli(self, *arguments: str, check: bool = True, **options: Any) -> Any:
        """Run ``brain`` against this daemon."""
        return subprocess.run(
            [sys.executable, "-m", "brain_daemon.cli.main", "--socket", self.socket, *arguments],
            capture_output=True,
            text=True,
            check=check,
            timeout=60,
            **options,
        )

    def stop(self) -> int:
        """SIGTERM, then the exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)

    def kill(self) -> None:
        """SIGKILL, as a crash would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(timeout=30)
