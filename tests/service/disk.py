"""A disk under test: an apsw VFS that records what SQLite does to its files, or fails on demand.

SQLite sees no shared memory here, so the one connection holds the file exclusively; log, commits
and checkpoints are the same. Temporary files are passed through: nothing durable is in them.
"""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from brain_daemon.store import checksums

SECTOR_BYTES = 512


@dataclass(frozen=True, slots=True)
class Op:
    """Something that changes a file, or makes its changes durable."""

    kind: str  # write, truncate, delete, sync; sync-folder makes the deletes of all files durable
    file: str
    offset: int = 0  # of a truncate: the new size
    data: bytes = b""


class _File(apsw.VFSFile):
    def __init__(self, disk: "Disk", path: str | None, filename: Any, flags: list[int]) -> None:
        super().__init__(disk.base, filename, flags)
        self.disk = disk
        self.name = path and Path(path).name
        # The checksums of pages are written below, so what was written is read there.
        self.reading = None if path is None else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        # SQLite syncs the folder with the first sync of a journal or a log that it opened.
        self.syncs_folder = bool(flags[0] & (apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_WAL))

    def _note(self, kind: str, offset: int = 0, data: Any = b"") -> None:
        if self.name is not None:
            self.disk.note(Op(kind, self.name, offset, bytes(data)))

    def xRead(self, amount: int, offset: int) -> bytes:
        self.disk.enter("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: Any, offset: int) -> None:
        self.disk.enter("write")
        super().xWrite(data, offset)
        if self.reading is not None:
            self._note("write", offset, os.pread(self.reading, len(data), offset))

    def xTruncate(self, newsize: int) -> None:
        self.disk.enter("truncate")
        super().xTruncate(newsize)
        self._note("truncate", newsize)

    def xSync(self, flags: int) -> None:
        self.disk.enter("sync")
        super().xSync(flags)
        self._note("sync")
        if self.syncs_folder:
            self._note("sync-folder")
            self.syncs_folder = False

    def xClose(self) -> None:
        if self.reading is not None:
            os.close(self.reading)
            self.reading = None
        super().xClose()

    def xFileSize(self) -> int:
        self.disk.enter("size")
        return super().xFileSize()

    def excepthook(self, *_: Any) -> bool:
        return True  # an injected failure is no accident to be printed


class Disk(apsw.VFS):
    """Every store that is opened while the disk is `installed` lies on it.

    Attributes
    ----------
    log : list of Op
        What was done to named files so far.
    fail : callable, optional
        Told the kind of each operation before it is done; what it gives is raised.
    """

    def __init__(self) -> None:
        self.base = checksums.file_system()
        self.log: list[Op] = []
        self.fail: Callable[[str], BaseException | None] | None = None
        super().__init__("disk-under-test", self.base)

    def xOpen(self, name: Any, flags: list[int]) -> _File:
        self.enter("open")
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        return _File(self, path, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.enter("delete")
        super().xDelete(filename, syncdir)
        self.note(Op("delete", Path(filename).name))
        if syncdir:
            self.note(Op("sync-folder", Path(filename).name))

    def excepthook(self, *_: Any) -> bool:
        return True

    def note(self, op: Op) -> None:
        self.log.append(op)

    def enter(self, kind: str) -> None:
        error = self.fail(kind) if self.fail is not None else None
        if error is not None:
            raise error


@contextmanager
def installed() -> Iterator[Disk]:
    """Let all connections of the block be opened on a new disk."""
    disk = Disk()
    before = checksums.file_system

    def hold(connection: apsw.Connection) -> None:
        connection.pragma("locking_mode", "exclusive")

    checksums.file_system = lambda: "disk-under-test"
    apsw.connection_hooks.append(hold)
    try:
        yield disk
    finally:
        apsw.connection_hooks.remove(hold)
        checksums.file_system = before
        disk.unregister()


Image = dict[str, bytes]


@dataclass
class _Contents:
    """A file as it is on the platters; ``pending`` may or may not have come there yet."""

    durable: bytearray | None = None
    pending: list[Op] = field(default_factory=list)

    def settle(self) -> None:
        for op in self.pending:
            self.durable = _apply(self.durable, op)
        self.pending.clear()

    def settle_deletes(self) -> None:
        last = max((n for n, op in enumerate(self.pending) if op.kind == "delete"), default=-1)
        if last >= 0:
            self.durable = None
            del self.pending[: last + 1]

    def after(self, lost: Callable[[Op], Iterator[Op]]) -> bytearray | None:
        content = None if self.durable is None else bytearray(self.durable)
        for op in self.pending:
            for kept in lost(op):
                content = _apply(content, kept)
        return content


def _apply(content: bytearray | None, op: Op) -> bytearray | None:
    if op.kind == "delete":
        return None
    content = bytearray() if content is None else content
    if op.kind == "truncate":
        if len(content) < op.offset:
            content.extend(bytes(op.offset - len(content)))
        del content[op.offset :]
        return content
    if len(content) < op.offset:
        content.extend(bytes(op.offset - len(content)))
    content[op.offset : op.offset + len(op.data)] = op.data
    return content


def crashes(log: list[Op], seed: int, random_losses: int = 1) -> Iterator[tuple[int, Image]]:
    """Give what a power cut may leave, cut after every operation: (operations done, image).

    Of what was not synced all is there, or nothing, or any part of it: whole operations get lost,
    and sectors of writes do.
    """
    rng = random.Random(seed)
    files: dict[str, _Contents] = {}

    def all_there(op: Op) -> Iterator[Op]:
        yield op

    def nothing(op: Op) -> Iterator[Op]:
        return iter(())

    def torn(op: Op) -> Iterator[Op]:
        if op.kind != "write":
            return iter([op] if rng.random() < 0.5 else [])
        if rng.random() < 0.3:
            return iter(())
        if rng.random() < 0.3:
            return iter([op])
        return _sectors(op, rng)

    for n_done, op in enumerate(log, 1):
        file = files.setdefault(op.file, _Contents())
        if op.kind == "sync":
            file.settle()
        elif op.kind == "sync-folder":
            for each in files.values():
                each.settle_deletes()
        else:
            file.pending.append(op)
        seen: set[int] = set()
        for lost in (all_there, nothing, *[torn] * random_losses):
            left = {name: contents.after(lost) for name, contents in files.items()}
            image = {name: bytes(data) for name, data in left.items() if data is not None}
            key = hash(tuple(sorted(image.items())))
            if key not in seen:
                seen.add(key)
                yield n_done, image


def _sectors(op: Op, rng: random.Random) -> Iterator[Op]:
    """The sectors of a write that came through; a sector is never torn itself."""
    start, end = op.offset, op.offset + len(op.data)
    while start < end:
        stop = min(end, (start // SECTOR_BYTES + 1) * SECTOR_BYTES)
        if rng.random() < 0.5:
            yield Op("write", op.file, start, op.data[start - op.offset : stop - op.offset])
        start = stop


def lay_out(image: Image, folder: Path) -> None:
    """Make the files of an image, and no others, in a folder."""
    for path in folder.iterdir():
        path.unlink()
    for name, data in image.items():
        (folder / name).write_bytes(data)
    with suppress(FileNotFoundError):
        (folder / "brain.db").chmod(0o600)
