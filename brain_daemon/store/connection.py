"""Opens connections to a store's file. Not here: the schema, threads, the lock file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import sqlite_vec

from brain_daemon.store import checksums

DATABASE_NAME = "brain.db"
BUSY_TIMEOUT_MS = 5_000
WRITER_CACHE_KIB = 4_096
READER_CACHE_KIB = 512  # many readers, few pages each: recall fetches only its final hits
JOURNAL_LIMIT_BYTES = 16 << 20


def open_writer(path: Path | str) -> apsw.Connection:
    """Open the one connection that writes; create the file, mode 0600, if there is none.

    Parameters
    ----------
    path : Path or str
        The database file. Its folder exists and belongs to the caller alone.

    Returns
    -------
    apsw.Connection
        WAL, ``synchronous=FULL``, foreign keys on, deleted bytes overwritten with zeros, and a
        checksum on every page of a new file.
    """
    path = Path(path)
    _create_private(path)
    conn = _open(path, WRITER_CACHE_KIB)
    with _closed_on_failure(conn):
        checksums.reserve(conn)
        # Before WAL is switched on nothing else may be open; on later starts this reads one page.
        mode = conn.pragma("journal_mode", "wal")
        if mode != "wal":
            raise apsw.CantOpenError(f"{path}: write-ahead logging is not possible here ({mode})")
        conn.pragma("synchronous", "full")
        conn.pragma("foreign_keys", 1)
        conn.pragma("secure_delete", 1)
        conn.pragma("journal_size_limit", JOURNAL_LIMIT_BYTES)
        conn.transaction_mode = "IMMEDIATE"  # of ``with conn:``; a read never turns into a write
    return conn


def open_reader(path: Path | str) -> apsw.Connection:
    """Open a connection that refuses every change; the file must exist.

    It is not opened with SQLite's read-only flag, because a reader of a WAL database has to be
    able to make the shared-memory file.
    """
    conn = _open(Path(path), READER_CACHE_KIB)
    with _closed_on_failure(conn):
        conn.pragma("query_only", 1)
    return conn


@contextmanager
def _closed_on_failure(conn: apsw.Connection) -> Iterator[None]:
    """Leave no lock behind on a file that could not be opened whole."""
    try:
        yield
    except BaseException:
        conn.close()
        raise


def _create_private(path: Path) -> None:
    """SQLite would create the file with the umask's mode; its -wal and -shm inherit ours."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        # By path, not by descriptor: closing one would drop this process's SQLite locks.
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        return
    os.fchmod(descriptor, 0o600)
    os.close(descriptor)


def _open(path: Path, cache_kib: int) -> apsw.Connection:
    conn = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=checksums.file_system())
    with _closed_on_failure(conn):
        conn.set_busy_timeout(BUSY_TIMEOUT_MS)
        conn.enable_load_extension(True)
        conn.load_extension(sqlite_vec.loadable_path())
        conn.enable_load_extension(False)
        # A hostile database file may neither run functions from its schema nor be edited through
        # the shadow tables of FTS5 and vec0.
        conn.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        conn.pragma("cache_size", -cache_kib)
    return conn
