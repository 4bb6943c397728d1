import errno
import os
import socket
from pathlib import Path

import pytest

from brain_daemon.protocol.peer import read_peer


def test_credentials_are_the_kernels() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        peer = read_peer(ours)
    assert (peer.pid, peer.uid, peer.gid) == (os.getpid(), os.geteuid(), os.getegid())
    assert sorted(peer.groups) == sorted(os.getgroups())


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to take on groups")
@pytest.mark.parametrize("n_groups", [0, 1, 255, 256, 257, 300, 5000])
def test_all_groups_are_read_however_many(n_groups: int, tmp_path: Path) -> None:
    wanted = [*range(70_000, 70_000 + n_groups)]
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        pid = os.fork()
        if pid == 0:
            os.setgroups(wanted)
            os.setgid(1234)
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(path)
                os._exit(0)
        accepted, _ = listener.accept()
        with accepted:
            peer = read_peer(accepted)  # it may be gone by now: the kernel still knows
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert (peer.pid, peer.uid, peer.gid) == (pid, os.geteuid(), 1234)
    assert sorted(peer.groups) == wanted


def test_a_peer_of_whom_a_part_is_unknown_is_no_peer() -> None:
    class Silent:
        """A socket whose kernel knows no groups."""

        def __init__(self, sock: socket.socket) -> None:
            self._sock = sock

        def getsockopt(self, level: int, option: int, size: int) -> bytes:
            if option == socket.SO_PEERCRED:
                return self._sock.getsockopt(level, option, size)
            raise OSError(errno.ENOPROTOOPT, "Protocol not available")

    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs, pytest.raises(OSError, match="Protocol not available"):
        read_peer(Silent(ours))  # type: ignore[arg-type]
