"""What SQLite's failures mean for the caller. Not here: what the daemon does about them."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from brain_daemon.errors import StoreDegraded

UNSOUND = (apsw.IOError, apsw.CorruptError, apsw.NotADBError)
"""After these a connection's view of the file proves nothing any more."""

OF_THE_DISK = (apsw.FullError, apsw.ReadOnlyError)
"""These pass when there is room again, or the file system is writable."""

_UNLIKE_WRITTEN = (apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_CORRUPTFS)
OUT_OF_MEMORY = (apsw.NoMemError, MemoryError)
FAILURES = (apsw.Error, MemoryError)

_OF_THE_FILE = (*UNSOUND, apsw.BusyError, apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError)


def is_damage(error: BaseException) -> bool:
    """Tell whether what is stored is not what was written: a page unlike its checksum, or worse."""
    if isinstance(error, apsw.IOError):
        return getattr(error, "extendedresult", 0) in _UNLIKE_WRITTEN
    return isinstance(error, apsw.CorruptError | apsw.NotADBError)


def is_full(error: BaseException | None) -> bool:
    """Tell whether a full disk, or a quota, is what an error goes back to."""
    while error is not None:
        if isinstance(error, apsw.FullError):
            return True
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__
    return False


def translate(error: BaseException) -> BaseException:
    """Give a failure of disk or file as StoreDegraded with its cure, anything else as it is."""
    told = _told(error)
    if told is not error:
        told.__cause__ = error
    return told


def _told(error: BaseException) -> BaseException:
    if isinstance(error, apsw.FullError):
        return StoreDegraded("the disk is full: free some space or forget something, then retry")
    if isinstance(error, apsw.ReadOnlyError):
        return StoreDegraded("the store's file system is read-only: remount it, then retry")
    if is_damage(error):
        return StoreDegraded(
            f"the store's file is damaged ({error}): restore a backup with `brain restore`, or "
            "move the file away to begin anew"
        )
    if isinstance(error, OUT_OF_MEMORY):
        return StoreDegraded(
            "there was not enough memory, and nothing was changed: ask for less at a time, or give "
            "the daemon more"
        )
    if isinstance(error, _OF_THE_FILE):
        return StoreDegraded(f"the store's file could not be used: {error}")
    return error


@contextmanager
def translated() -> Iterator[None]:
    """Raise what `translate` gives."""
    try:
        yield
    except FAILURES as error:
        told = translate(error)
        if told is error:
            raise
        raise told from error
