"""``brain restore``: the one command that opens a store itself, because no daemon may."""

from __future__ import annotations

from pathlib import Path

import click

from brain_daemon.cli import exits
from brain_daemon.cli.command import command, json_option
from brain_daemon.cli.output import print_json, safe

_TOLD = ("kept", "schema_version", "documents", "chunks")


@command(example="brain restore ~/brain-backup.db")
@click.argument("backup", type=click.Path(path_type=Path))
@click.option("--store", help="Folder of the store. Default: that of your own daemon.")
@click.option("--identity", type=click.Path(path_type=Path), help="The key of an encrypted backup.")
@json_option
def restore_command(backup: Path, store: str | None, identity: Path | None, as_json: bool) -> None:
    """Put BACKUP in the place of a store whose daemon is stopped.

    The backup is checked first; what was there is kept beside it.
    """
    from brain_daemon import config
    from brain_daemon.audit.log import FILE_NAME, telling
    from brain_daemon.lock import FileLock, LockHeld
    from brain_daemon.store.restore import restore

    directory = config.load({"store": store}).store_dir
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        lock = FileLock(directory / "lock")
    except LockHeld as held:
        raise exits.Failure(f"{held}: stop the daemon first", exits.REFUSED) from held
    try:
        with telling(directory / FILE_NAME, "restore", path=str(backup.absolute())) as told:
            done = restore(backup, directory, identity)
            told |= {name: done[name] for name in _TOLD}
    finally:
        lock.release()
    if as_json:
        print_json(done)
        return
    kept = done["kept"]
    click.echo(f"{safe(done['path'])}: {done['documents']} documents, {done['chunks']} chunks")
    if kept:
        click.echo(f"what was there is in {safe(kept)}; remove it when you no longer need it")
    click.echo("start the daemon")
