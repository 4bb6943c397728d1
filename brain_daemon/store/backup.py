"""Online backup: one file, private, complete and checked, or nothing. Not here: when, or where."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from brain_daemon.durable import sync_path
from brain_daemon.errors import BadRequest, Conflict, StoreDegraded
from brain_daemon.store import checksums, connection, encryption, maintenance, schema

STEP_PAGES = 4_096


def backup(
    conn: apsw.Connection, target: Path, *, overwrite: bool = False, recipient: str | None = None
) -> dict[str, Any]:
    """Copy the store as of now, while others write; check the copy; then give it its name.

    Parameters
    ----------
    conn : apsw.Connection
        A reader, outside a transaction. It holds one read transaction while it copies, so that
        writers neither wait nor make the copy start again.
    target : Path
        In an existing folder. The file appears there whole, with mode 0600, synced to disk.
    overwrite : bool
        Whether an existing backup may be replaced.
    recipient : str, optional
        A public key of age; the file is encrypted to it after it was checked.

    Returns
    -------
    dict
        ``path``, ``size_bytes``, ``sha256``, ``schema_version`` and the rows of each kind.

    Raises
    ------
    Conflict
        The target exists and ``overwrite`` is false, or it is no backup; or another backup to it
        is under way.
    BadRequest
        It cannot be written, it is in the store's own folder, or it is no regular file; or the
        recipient is no key.
    StoreDegraded
        The copy is not sound; it was removed.
    """
    if recipient is not None:
        encryption.parse(recipient)
    try:
        _check_target(conn, target, overwrite)
        partial = target.with_name(f".{target.name}.partial")
        with _claimed(partial):
            expected = _copy(conn, partial)
            _verify(partial, expected)
            whole = partial
            if recipient is not None:
                whole = target.with_name(f".{target.name}.encrypted")
                _remove(whole)
                whole.touch(mode=0o600)
                encryption.encrypt(partial, whole, recipient)
            size, digest = _sync(whole)
            if overwrite:
                whole.replace(target)
            else:
                try:
                    target.hardlink_to(whole)
                except FileExistsError:
                    raise _exists(target) from None
                finally:
                    _remove(whole)
        sync_path(target.parent)
    except OSError as error:
        raise BadRequest(f"cannot write {target}: {error.strerror}") from error
    return {"path": str(target), "size_bytes": size, "sha256": digest, **expected}


@contextmanager
def _claimed(partial: Path) -> Iterator[None]:
    """Hold the file that is being written; what an interrupted backup left of it goes first."""
    descriptor = _open_claimed(partial)
    try:
        _remove(f"{partial}-journal")  # SQLite would play it back into the new copy
        os.fchmod(descriptor, 0o600)
        os.ftruncate(descriptor, 0)
        yield
    finally:
        if _is_at(partial, descriptor):  # else it has its name, and the next may have begun
            _remove(f"{partial}-journal", partial)
        os.close(descriptor)


def _open_claimed(partial: Path) -> int:
    """Open and lock the file of that name, and none that is a finished backup by now."""
    while True:
        descriptor = os.open(
            partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600
        )
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise Conflict(f"a backup to that path is under way ({partial})") from None
        if _is_at(partial, descriptor):
            if os.fstat(descriptor).st_nlink == 1:
                return descriptor
            _remove(partial)  # one that was killed between giving it its name and taking this one
        os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _remove(*paths: Path | str) -> None:
    for path in paths:
        Path(path).unlink(missing_ok=True)


def _check_target(conn: apsw.Connection, target: Path, overwrite: bool) -> None:
    if not target.parent.is_dir():
        raise BadRequest(f"the folder {target.parent} does not exist: make it first")
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise BadRequest(f"{target} is not a regular file: choose another path")
    store = Path(conn.filename)
    if target.parent.samefile(store.parent) or (target.exists() and target.samefile(store)):
        raise BadRequest(f"{target} is the store itself, or in its folder: choose another path")
    if target.exists() and not overwrite:
        raise _exists(target)
    if target.exists() and not _is_backup(target):
        raise Conflict(
            f"{target} exists and is no backup, so it is not replaced: choose another path, or "
            "remove it yourself"
        )


def _is_backup(path: Path) -> bool:
    """Tell by its first bytes; who may make backups must not so destroy the user's other files."""
    with path.open("rb") as file:
        header = file.read(72)
    is_ours = header[68:72] == schema.APPLICATION_ID.to_bytes(4, "big")
    return (header.startswith(b"SQLite format 3\0") and is_ours) or encryption.is_encrypted(path)


def _exists(target: Path) -> Conflict:
    return Conflict(f"{target} exists: choose another path, or set overwrite (--overwrite)")


def _copy(conn: apsw.Connection, partial: Path) -> dict[str, int]:
    copy = apsw.Connection(
        str(partial), flags=apsw.SQLITE_OPEN_READWRITE, vfs=checksums.file_system()
    )
    try:
        conn.execute("BEGIN")
        expected = {"schema_version": schema.version(conn), **maintenance.counts(conn)}
        with copy.backup("main", conn, "main") as steps:
            while not steps.done:
                steps.step(STEP_PAGES)
        copy.pragma("journal_mode", "delete")  # one file, readable from read-only media
    finally:
        copy.close()
        if conn.in_transaction:  # a failed read may have ended it
            conn.execute("ROLLBACK")
    return expected


def _verify(partial: Path, expected: dict[str, int]) -> None:
    copy = connection.open_reader(partial)
    try:
        findings = maintenance.check_pages(copy).findings + maintenance.integrity_findings(copy)
        found = {"schema_version": schema.version(copy), **maintenance.counts(copy)}
    finally:
        copy.close()
    if found != expected:
        findings.append(f"the copy holds {found}, the store {expected}")
    if findings:
        raise StoreDegraded(f"the backup is not sound and was removed: {'; '.join(findings)}")


def _sync(path: Path) -> tuple[int, str]:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return file.tell(), digest
