"""The listening socket: made by systemd or by us, owned by one daemon, 0600 from its first moment.

The caller holds the lock of the path (`lock.FileLock`) before anything here touches it: both
asyncio and uvloop would silently take over a live daemon's path.
"""

import errno
import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

BACKLOG = 4096
MAX_PATH_BYTES = 107  # sun_path holds 108 bytes with its terminating NUL


class PathInUse(Exception):
    """Something that is not ours stands at the socket path."""


def prepare_directory(path: Path) -> None:
    """Create the socket's folder, private to us, where it does not exist yet.

    Raises
    ------
    PathInUse
        For a path too long for a Unix socket.
    """
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise PathInUse(
            f"the socket path {path} has {len(os.fsencode(path))} bytes; Unix sockets take "
            f"{MAX_PATH_BYTES}: choose a shorter one with --socket"
        )
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)


def bind(path: Path) -> socket.socket:
    """Bind and listen; a stale socket is replaced, anything else at the path is refused.

    Raises
    ------
    PathInUse
        A live socket, a file, a folder or a link stands at the path; it is left as it was.
    """
    _clear_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    # bind() creates the file with the umask's mode: there is no moment at which others may connect.
    previous = os.umask(0o177)
    try:
        listener.bind(os.fspath(path))
    except OSError as error:
        listener.close()
        raise PathInUse(f"cannot bind {path}: {error.strerror}") from error
    finally:
        os.umask(previous)
    listener.listen(BACKLOG)
    listener.setblocking(False)
    return listener


def identity(path: Path) -> tuple[int, int]:
    """Tell one file from another that later takes its path."""
    status = path.lstat()
    return status.st_dev, status.st_ino


def unlink(path: Path, bound: tuple[int, int]) -> None:
    """Remove the socket, unless the path is no longer the one that was bound.

    Someone may have removed the folder, lock and all, and started another daemon in its place.
    """
    with suppress(FileNotFoundError):
        if identity(path) == bound:
            path.unlink()


def _clear_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a link" if stat.S_ISLNK(mode) else "a file"
        raise PathInUse(f"{path} is {kind}, not a socket: move it away or choose another --socket")
    if _answers(path):
        raise PathInUse(f"another program listens on {path}: stop it or choose another --socket")
    path.unlink()


def _answers(path: Path) -> bool:
    """Tell whether anyone accepts on the socket; only ECONNREFUSED proves that nobody does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(os.fspath(path))
        except OSError as error:
            return error.errno != errno.ECONNREFUSED
        return True
