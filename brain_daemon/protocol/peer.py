"""Who is at the other end of a Unix socket, and whether anybody still is, by the kernel's word.

Here: reading credentials. Not here: what they are allowed (``policy``).
Layer: protocol, a leaf.
"""

import ctypes
import errno
import os
import select
import socket
import struct

from brain_daemon.model import PeerCredentials

_CREDENTIALS = struct.Struct("iII")
_SO_PEERGROUPS = 59  # asm-generic/socket.h; Python has no name for it
_PYTHONS_LIMIT_BYTES = 1024  # the most that socket.getsockopt() gives
_MAX_GROUPS_BYTES = 4 * 65536  # NGROUPS_MAX of Linux


def read_peer(sock: socket.socket) -> PeerCredentials:
    """Read the credentials of the peer of a connected Unix socket, all groups among them.

    Raises
    ------
    OSError
        If the kernel does not tell them: a peer of whom a part is unknown is no peer, since the
        part may be what a rule of the policy keeps out.
    """
    data = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(data)
    try:
        raw = sock.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, _PYTHONS_LIMIT_BYTES)
    except OSError as error:
        if error.errno != errno.ERANGE:
            raise
        raw = _read_many_groups(sock.fileno())
    return PeerCredentials(pid, uid, gid, struct.unpack(f"{len(raw) // 4}I", raw))


def has_hung_up(sock: socket.socket) -> bool:
    """Tell whether the peer has closed both halves, not only the one it wrote to."""
    poll = select.poll()
    poll.register(sock.fileno(), 0)
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def _read_many_groups(descriptor: int) -> bytes:
    """Read more groups than Python's own call takes (256)."""
    buffer = ctypes.create_string_buffer(_MAX_GROUPS_BYTES)
    length = ctypes.c_uint32(_MAX_GROUPS_BYTES)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.getsockopt(descriptor, socket.SOL_SOCKET, _SO_PEERGROUPS, buffer, ctypes.byref(length)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return buffer.raw[: length.value]
