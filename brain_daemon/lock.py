"""One daemon per store and per socket path: advisory locks that die with their holder."""

import fcntl
import os
from pathlib import Path


class LockHeld(Exception):
    """Another process holds the lock; ``pid`` is what it wrote there (0 when unknown)."""

    def __init__(self, path: Path, pid: int) -> None:
        super().__init__(f"{path} is in use by pid {pid or 'unknown'}")
        self.path = path
        self.pid = pid


class FileLock:
    """An ``flock`` on a file that holds its owner's pid.

    The kernel drops it when the process ends, however it ends, so a file left over from a crash
    means nothing. The file is never deleted: unlinking would let two processes lock two files
    of one name.

    Raises
    ------
    LockHeld
        At once, without waiting.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _read_pid(self._file)
            os.close(self._file)
            raise LockHeld(path, pid) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.ftruncate(self._file, 0)
        os.close(self._file)


def _read_pid(file: int) -> int:
    text = os.pread(file, 32, 0).strip()
    return int(text) if text.isdigit() else 0
