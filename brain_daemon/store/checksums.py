"""A checksum on every page: SQLite's checksum file system, and the check of a whole file.

The last eight bytes of a page are its checksum. SQLite's ``cksumvfs``, which apsw brings, writes it
with every page of the file and verifies it with every page that is read from there; one that does
not match is an input/output error (`apsw.SQLITE_IOERR_DATA`) and never an answer. Pages in the log
it leaves alone: their frames have checksums of their own (`log`). The checksum of a page of zeros
is zero, so those are told from the free ones here. Not here: what SQLite sees within
sound pages (`maintenance.integrity_findings`).
"""

import struct
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import apsw
from apsw import sqlite_extra

from brain_daemon.errors import StoreDegraded

RESERVED_BYTES = 8
PAGE_BYTES = 4_096  # SQLite's default; a store was never made with another
_PAGE_BYTES_STORED = struct.pack(">H", PAGE_BYTES)
_MAGIC = b"SQLite format 3\0"
_PENDING_BYTE = 1 << 30  # the page that holds this offset is never used
_ATTEMPTS = 3
_SHOWN = 8


@cache
def file_system() -> str:
    """Register the checksum file system, once in a process; the name to open files with.

    Raises
    ------
    StoreDegraded
        This apsw was built without it.
    """
    try:
        with closing(apsw.Connection(":memory:")) as conn:
            sqlite_extra.load(conn, "cksumvfs")
    except (sqlite_extra.NotAvailable, LookupError, apsw.Error) as error:
        raise StoreDegraded(
            "this apsw lacks SQLite's checksum file system (cksumvfs), without which a damaged "
            "page could be served: install apsw from its wheel"
        ) from error
    return "cksmvfs"


def reserve(conn: apsw.Connection) -> None:
    """Reserve room for checksums in a file that is still empty."""
    if conn.pragma("page_count") == 0:
        conn.reserve_bytes(reserve=RESERVED_BYTES)


def enable(conn: apsw.Connection) -> None:
    """Rewrite a file whose pages carry no checksums; takes room for a second copy of it.

    Parameters
    ----------
    conn : apsw.Connection
        The writer, outside a transaction.
    """
    if conn.reserve_bytes() != RESERVED_BYTES:
        conn.reserve_bytes(reserve=RESERVED_BYTES)
        conn.execute("VACUUM")


def are_on(path: Path) -> bool:
    """Tell whether the pages of a file carry checksums."""
    with path.open("rb") as file:
        return file.read(21)[20:] == bytes([RESERVED_BYTES])


@dataclass(frozen=True, slots=True)
class Check:
    """What is wrong with the pages of a file; page numbers from 1."""

    header: str = ""
    n_missing: int = 0  # pages that were written and are cut off
    damaged: Sequence[int] = ()  # whoever reads them is told
    zeroed: Sequence[int] = ()  # whoever reads them may not be told

    @property
    def findings(self) -> list[str]:
        """One sentence each; empty for a sound file."""
        found = [self.header] if self.header else []
        if self.n_missing:
            found.append(f"{self.n_missing} pages are cut off from the end of the file")
        found += _told(self.damaged, "are damaged: their checksums do not match")
        return found + _told(self.zeroed, "are empty that should not be")

    @property
    def is_treacherous(self) -> bool:
        """Some of the damage would not show when it is read."""
        return bool(self.header or self.n_missing or self.zeroed)


def check_in_use(path: Path) -> Check:
    """Read every page of a file that others may write meanwhile.

    A page that was caught in the middle is read again. Zeroed pages are not looked for: which are
    free changes.
    """
    with closing(_Pages(path)) as pages:
        if pages.wrong_header:
            return Check(header=pages.wrong_header)
        numbers = range(1, pages.n_pages + 1)
        return Check(damaged=[number for number in numbers if pages.read(number) is None])


def check(path: Path) -> Check:
    """Check a file that nobody writes and whose log was moved into it: pages, length, zeros."""
    with closing(_Pages(path)) as pages:
        if pages.wrong_header:
            return Check(header=pages.wrong_header)
        (n_written,) = struct.unpack_from(">I", pages.header, 28)
        n_free, free = _free_pages(pages)
        unused = free | {_PENDING_BYTE // PAGE_BYTES + 1}
        zeros = bytes(PAGE_BYTES)
        damaged, zeroed = [], []
        for number in range(1, pages.n_pages + 1):
            page = pages.read(number)
            if page is None:
                damaged.append(number)
            elif page == zeros and number not in unused:
                zeroed.append(number)
    header = "" if n_free == len(free) else "the list of free pages is damaged"
    return Check(header, max(0, n_written - pages.n_pages), damaged, zeroed)


class _Pages:
    """The pages of a file as the checksum file system gives them; numbers from 1."""

    def __init__(self, path: Path) -> None:
        flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY
        self._file = apsw.VFSFile(file_system(), str(path.absolute()), [flags, 0])
        self.header = self._file.xRead(100, 0)
        self.n_pages = -(-self._file.xFileSize() // PAGE_BYTES)
        self.wrong_header = ""
        if len(self.header) < 100 or self.header[:16] != _MAGIC:
            self.wrong_header = "the first page is damaged: this is no SQLite database"
        elif self.header[16:18] != _PAGE_BYTES_STORED or self.header[20] != RESERVED_BYTES:
            self.wrong_header = "the first page is damaged, or the pages carry no checksums"

    def read(self, number: int) -> bytes | None:
        """A page; None if it is damaged or cut off."""
        for _ in range(_ATTEMPTS):
            try:
                page = self._file.xRead(PAGE_BYTES, (number - 1) * PAGE_BYTES)
            except apsw.IOError:
                continue
            if len(page) == PAGE_BYTES:
                return page
        return None

    def close(self) -> None:
        self._file.xClose()


def _free_pages(pages: _Pages) -> tuple[int, set[int]]:
    """How many pages should be free, and those that the free list names."""
    trunk, n_free = struct.unpack_from(">II", pages.header, 32)
    free: set[int] = set()
    while trunk and trunk not in free and trunk <= pages.n_pages:
        free.add(trunk)
        page = pages.read(trunk)
        if page is None:
            break
        following, count = struct.unpack_from(">II", page)
        count = min(count, len(page) // 4 - 2)
        free.update(struct.unpack_from(f">{count}I", page, 8))
        trunk = following
    return n_free, free


def _told(numbers: Sequence[int], what: str) -> list[str]:
    if not numbers:
        return []
    shown = ", ".join(map(str, numbers[:_SHOWN])) + (", …" if len(numbers) > _SHOWN else "")
    return [f"{len(numbers)} pages {what} ({shown})"]
