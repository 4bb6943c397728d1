"""Who is at the other end of a Unix socket, by the kernel's word.

Here: reading credentials. Not here: what they are allowed (policy, in the service).
Layer: protocol, a leaf.
"""

import socket
import struct
from dataclasses import dataclass

_CREDENTIALS = struct.Struct("iII")
_SO_PEERGROUPS = 59  # asm-generic/socket.h; Python has no name for it
_MAX_GROUPS_BYTES = 1024  # the most that socket.getsockopt() gives


@dataclass(frozen=True, slots=True)
class PeerCredentials:
    """The process that connected, as it was when it connected.

    Parameters
    ----------
    pid, uid, gid : int
        Process, effective user and effective group.
    groups : tuple of int
        Supplementary groups; empty if there are more than 256, so that too many never grant.
    """

    pid: int
    uid: int
    gid: int
    groups: tuple[int, ...]


def read_peer(sock: socket.socket) -> PeerCredentials:
    """Read the credentials of the peer of a connected Unix socket.

    Raises
    ------
    OSError
        If the kernel does not know them.
    """
    data = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(data)
    try:
        raw = sock.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, _MAX_GROUPS_BYTES)
    except OSError:
        raw = b""
    return PeerCredentials(pid, uid, gid, struct.unpack(f"{len(raw) // 4}I", raw))
