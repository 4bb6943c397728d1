import os
import socket

from brain_daemon.protocol.peer import read_peer


def test_credentials_are_the_kernels() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        peer = read_peer(ours)
    assert (peer.pid, peer.uid, peer.gid) == (os.getpid(), os.geteuid(), os.getegid())
    assert sorted(peer.groups) == sorted(os.getgroups())
