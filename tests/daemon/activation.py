"""A daemon whose socket is made by somebody else, as systemd does it."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from brain_daemon.client import Client
from tests.daemon_process import START_TIMEOUT_S, Daemon

# Puts the given descriptors where systemd does, says so, and becomes the daemon.
_PASS = """
import fcntl, os, sys
numbers = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 20) for number in sys.argv[2].split(",")]
for place, number in enumerate(numbers, 3):
    os.dup2(number, place)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(numbers)))
if sys.argv[1]:
    os.environ["LISTEN_FDNAMES"] = sys.argv[1]
os.execv(sys.executable, [sys.executable, *sys.argv[3:]])
"""


class Activated(Daemon):
    """A daemon on an inherited socket; what it notifies is read with `wait_notified`."""

    def __init__(self, folder: Path, **environment: str) -> None:
        super().__init__(folder, **environment)
        self.socket = folder / "activated.sock"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.fspath(self.socket))
        self.listener.listen()
        self.channel = self.ready_channel()
        self.notified: list[str] = []

    def spawn(self, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        return self.spawn_with({"brain": self.listener}, *options, **environment)

    def spawn_with(
        self, passed: dict[str, Any], *options: str, **environment: str
    ) -> subprocess.Popen[bytes]:
        """Start a daemon that inherits these files under these names."""
        numbers = [file.fileno() for file in passed.values()]
        command = [sys.executable, "-c", _PASS, ":".join(passed), ",".join(map(str, numbers))]
        command += ["-m", "brain_daemon.daemon.main", "serve", "--store", os.fspath(self.store)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *options],
                env={
                    **os.environ,
                    "NOTIFY_SOCKET": os.fspath(self._notify_path),
                    **self.environment,
                    **environment,
                },
                pass_fds=numbers,
                stderr=log,
            )
        return self.process

    def wait_notified(self, start: str) -> str:
        """Wait until a message holds an assignment that starts like this, and give that message.

        What came before it is thrown away; all is kept in ``notified``.
        """
        self.channel.settimeout(START_TIMEOUT_S)
        while True:
            try:
                message = self.channel.recv(4096).decode()
            except TimeoutError:
                raise AssertionError(
                    f"no {start}: {self.notified}\n{self.log.read_text()}"
                ) from None
            self.notified.append(message)
            if any(line.startswith(start) for line in message.splitlines()):
                return message

    def reload(self) -> str:
        """SIGHUP; gives the message that ends the reload."""
        assert self.process is not None
        self.process.send_signal(signal.SIGHUP)
        self.wait_notified("RELOADING=1")
        return self.wait_notified("READY=1")

    def serverctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another command of ``brain-daemon`` in the same environment."""
        return subprocess.run(
            [sys.executable, "-m", "brain_daemon.daemon.main", *arguments],
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            timeout=60,
        )

    def end(self) -> None:
        """Stop it, if it runs, and close the socket."""
        if self.process is not None and self.process.poll() is None:
            assert self.stop() == 0, self.log.read_text()
        self.listener.close()
        self.channel.close()

    def __enter__(self) -> "Activated":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def ask(daemon: Daemon, method: str, **params: Any) -> Any:
    """One call on a connection of its own."""
    with Client(daemon.socket) as client:
        return client.call(method, **params)
