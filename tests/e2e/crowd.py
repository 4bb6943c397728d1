"""Many clients at once, in a process of their own with as many descriptors as the system allows."""

import subprocess
import sys
from types import TracebackType

from tests.daemon_process import Daemon

# argv: socket, number, what each sends (hexadecimal), how many bytes of the answer it waits for.
# Some may be turned away.
_CONNECTED = """
import contextlib, resource, socket, sys
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
path, number, sent, awaited = sys.argv[1:]
crowd = []
for _ in range(int(number)):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(path)
    crowd.append(sock)
for sock in crowd:
    with contextlib.suppress(OSError):
        sock.sendall(bytes.fromhex(sent))
for sock in crowd:
    with contextlib.suppress(OSError):
        sock.recv(int(awaited), socket.MSG_WAITALL)
print("ready", flush=True)
sys.stdin.read()
"""

# argv: socket, number, what each sends. A child is not waited for until its forerunners have ended.
_FORKED = """
import os, socket, sys
path, number, sent = sys.argv[1], int(sys.argv[2]), bytes.fromhex(sys.argv[3])
for i in range(number):
    if os.fork() == 0:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(path)
        sock.sendall(sent[: len(sent) - i % 5])
        os._exit(0)
    if i >= 20:
        assert os.wait()[1] == 0
for _ in range(min(number, 20)):
    assert os.wait()[1] == 0
"""


class Crowd:
    """Connections that are held open until the end of a ``with``."""

    def __init__(self, daemon: Daemon, number: int, sent: bytes = b"", n_awaited: int = 0) -> None:
        command = [sys.executable, "-c", _CONNECTED, str(daemon.socket), str(number), sent.hex()]
        self._process = subprocess.Popen(
            [*command, str(n_awaited)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> "Crowd":
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            self._process.communicate(timeout=60)
            raise AssertionError("the crowd could not connect")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=60)


def fork_storm(daemon: Daemon, number: int, sent: bytes) -> None:
    """Have so many processes connect, send most of it, and end."""
    command = [sys.executable, "-c", _FORKED, str(daemon.socket), str(number), sent.hex()]
    subprocess.run(command, check=True, timeout=100)
