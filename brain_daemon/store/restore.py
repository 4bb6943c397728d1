"""Putting a backup in the place of a store that nobody serves. Not here: the store's lock."""

import os
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

from brain_daemon.durable import sync_path
from brain_daemon.errors import BadRequest, SchemaTooNew, StoreDegraded
from brain_daemon.store import checksums, connection, encryption, failures, maintenance, schema

_COMPANIONS = ("-wal", "-shm", "-journal")


def restore(backup: Path, directory: Path, identity: Path | None = None) -> dict[str, Any]:
    """Check a backup, keep what is there aside, and let the backup take its place.

    Parameters
    ----------
    backup : Path
        What `backup.backup` made; it is only read.
    directory : Path
        The store's folder, whose lock the caller holds.
    identity : Path, optional
        The file with the key of an encrypted backup.

    Returns
    -------
    dict
        ``path`` of the database, ``kept`` (the folder that what was there went to, or None),
        ``schema_version`` and the rows of each kind.

    Raises
    ------
    BadRequest
        The backup cannot be read, is none, or the key does not open it; nothing was changed.
    StoreDegraded
        It is not sound; nothing was changed.
    SchemaTooNew
        A later release made it; nothing was changed.

    Notes
    -----
    Killed before the last step, the store is what it was, but for its log, which is in ``kept``
    beside a second name of the database: restore again, or move both back.
    """
    database = directory / connection.DATABASE_NAME
    partial = directory / f".{connection.DATABASE_NAME}.restoring"
    try:
        _discard(partial)
        encryption.copy_plain(backup, partial, identity)
        partial.chmod(0o600)
        with failures.translated():
            counts = check(partial, str(backup))
        sync_path(partial)
        kept = _keep_aside(database)
        _give_to_owner(directory, partial, *([kept, *kept.iterdir()] if kept else []))
        partial.replace(database)
        sync_path(directory)
    except OSError as error:
        raise BadRequest(f"{error.filename or backup}: {error.strerror}") from error
    finally:
        _discard(partial)
    return {"path": str(database), "kept": kept and str(kept), **counts}


def check(path: Path, name: str) -> dict[str, int]:
    """Check a copy of a store and bring it to this program's schema.

    Parameters
    ----------
    path : Path
        The copy.
    name : str
        What errors call it.

    Returns
    -------
    dict
        The schema version that was found, and the rows of each kind.

    Raises
    ------
    BadRequest
        It is no copy of a store.
    SchemaTooNew
        A later release made it.
    StoreDegraded
        It is not sound.
    """
    try:
        with closing(connection.open_reader(path)) as conn:
            version, found = _examine(conn, path, name)
        if not found:
            with closing(connection.open_writer(path)) as conn:
                schema.migrate(conn)
                found += maintenance.integrity_findings(conn)
                if not found:
                    return {"schema_version": version, **maintenance.counts(conn)}
    except failures.UNSOUND as error:
        if not failures.is_damage(error):
            raise
        # Told as the copy's damage: nobody should move a good store away for it.
        found = [f"the file is damaged: {error}"]
    raise StoreDegraded(f"the backup {name} is not sound: {'; '.join(found)}; take an older one")


def _examine(conn: apsw.Connection, path: Path, name: str) -> tuple[int, list[str]]:
    """Give the schema version of a copy, and what is wrong with its pages."""
    if conn.pragma("application_id") != schema.APPLICATION_ID:
        raise BadRequest(f"{name} is no backup of a store: choose another file")
    version = schema.version(conn)
    if version > schema.SCHEMA_VERSION:
        raise SchemaTooNew(
            f"the backup has schema {version}; this program knows schemas up to "
            f"{schema.SCHEMA_VERSION}: upgrade brain-daemon",
            found=version,
            supported=schema.SCHEMA_VERSION,
        )
    found = maintenance.check_pages(conn).findings
    if version >= schema.CHECKSUMS_SINCE and not checksums.are_on(path):
        found = ["the pages carry no checksums", *found]
    return version, found


def _keep_aside(database: Path) -> Path | None:
    """Give the database a second name; move its log, which must not meet the new file."""
    present = [Path(f"{database}{end}") for end in ("", *_COMPANIONS)]
    present = [path for path in present if path.exists()]
    if not present:
        return None
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    kept = database.parent / f"replaced-{stamp}"
    for number in range(2, 1000):
        if not kept.exists():
            break
        kept = kept.with_name(f"replaced-{stamp}-{number}")
    kept.mkdir(mode=0o700)
    for path in present:
        if path == database:
            (kept / path.name).hardlink_to(path)
    sync_path(kept)
    for path in present:
        if path != database:
            path.rename(kept / path.name)
    sync_path(kept)
    sync_path(database.parent)
    return kept


def _give_to_owner(directory: Path, *paths: Path) -> None:
    """Root may restore; the daemon's user has to be able to use what it finds."""
    owner = directory.stat()
    if os.geteuid() == 0:
        for path in paths:
            os.chown(path, owner.st_uid, owner.st_gid)


def _discard(partial: Path) -> None:
    for end in ("", *_COMPANIONS):
        Path(f"{partial}{end}").unlink(missing_ok=True)
