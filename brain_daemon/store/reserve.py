"""Room on the disk that is kept for forgetting: without it a full disk could not even be emptied.

Also here: asking the disk itself what a failed write meant. Not here: who may use the room.
"""

import errno
import logging
import os
from contextlib import suppress
from pathlib import Path

import apsw

log = logging.getLogger(__name__)

RESERVE_BYTES = 4 << 20  # of log and pages that a forget may write before it frees any
_PROBE_BYTES = 64 << 10  # SQLite grows its shared index by 32 KiB


class Reserve:
    """A file of allocated blocks in the store's folder.

    Parameters
    ----------
    folder : Path
        The store's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "reserve"
        self.is_held = False

    def hold(self) -> bool:
        """Allocate the room unless it is held already; False if the disk has not so much.

        Whatever else is in the way is for the writes themselves to tell.
        """
        if not self.is_held:
            failure = self._allocate(self._path, RESERVE_BYTES)
            self.is_held = failure not in (errno.ENOSPC, errno.EDQUOT)
            if failure and self.is_held:
                log.warning("no room is kept for a full disk: %s", os.strerror(failure))
        return self.is_held

    def release(self) -> bool:
        """Give the room to who comes first; False if there was none to give."""
        was_there, self.is_held = self._path.exists(), False
        self._path.unlink(missing_ok=True)
        return was_there

    def explain(self, error: Exception) -> Exception:
        """Give a failed write as what the disk says now: full, over quota, or read-only.

        SQLite tells only the first of them apart. A failed sync is never explained: what it was to
        make durable may be lost.
        """
        if getattr(error, "extendedresult", 0) not in _OF_A_WRITE:
            return error
        match self.probe():
            case errno.ENOSPC | errno.EDQUOT:
                return apsw.FullError(str(error))
            case errno.EROFS:
                return apsw.ReadOnlyError(str(error))
        return error

    def probe(self) -> int:
        """Try whether the disk takes a small file now; 0, or the errno of why it does not."""
        return self._allocate(self._path.with_name("probe"), _PROBE_BYTES, keep=False)

    def _allocate(self, path: Path, size: int, *, keep: bool = True) -> int:
        """Make a file of ``size`` bytes; 0, or why it could not be (nothing of it is left then)."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                os.posix_fallocate(descriptor, 0, size)
                if not keep:
                    # Where blocks are given when they are written, only a write can tell.
                    os.pwrite(descriptor, bytes(size), 0)
            finally:
                os.close(descriptor)
        except OSError as error:
            keep = False
            return error.errno or errno.EIO
        finally:
            if not keep:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
        return 0


_OF_A_WRITE = (
    apsw.SQLITE_IOERR_WRITE,
    apsw.SQLITE_IOERR_TRUNCATE,
    apsw.SQLITE_IOERR_SHMSIZE,
    apsw.SQLITE_IOERR_SHMOPEN,
    apsw.SQLITE_IOERR_DELETE,
)
