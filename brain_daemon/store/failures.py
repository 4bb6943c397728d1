"""What SQLite's failures mean for the caller. Not here: what the daemon does about them."""

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from brain_daemon.errors import StoreDegraded

DAMAGED = (apsw.CorruptError, apsw.NotADBError)
UNSOUND = (apsw.IOError, *DAMAGED)
"""After these a connection's view of the file proves nothing any more."""

OUT_OF_MEMORY = (apsw.NoMemError, MemoryError)
FAILURES = (apsw.Error, MemoryError)

_OF_THE_FILE = (*UNSOUND, apsw.BusyError, apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError)


def translate(error: BaseException) -> BaseException:
    """Give a failure of disk or file as StoreDegraded with its cure, anything else as it is."""
    if isinstance(error, apsw.FullError):
        return StoreDegraded(
            "the disk is full: free some space, then retry (to forget needs a little of it, too)"
        )
    if isinstance(error, apsw.ReadOnlyError):
        return StoreDegraded("the store's file system is read-only: remount it, then retry")
    if isinstance(error, DAMAGED):
        return StoreDegraded(
            f"the store's file is damaged ({error}): restore a backup, or move the file away to "
            "begin anew"
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
