"""The files of an audit log: the one that is written, and those that were put aside full.

Beside ``audit.log`` stands ``audit-000000004711.log``, which ends with record 4711. By name they
are in order, the one that is written last.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from brain_daemon.audit import chain
from brain_daemon.audit.chain import Head


def aside(path: Path, last_seq: int) -> Path:
    """Name the file that a full log is put aside as."""
    return path.with_name(f"{path.stem}-{last_seq:012d}{path.suffix}")


def put_aside(path: Path) -> list[Path]:
    """List the files that were put aside, the oldest first."""
    pattern = re.compile(f"{re.escape(path.stem)}-[0-9]{{12}}{re.escape(path.suffix)}")
    return sorted(other for other in path.parent.iterdir() if pattern.fullmatch(other.name))


def last_seq(path: Path) -> int:
    """Tell with which record a file that was put aside ends."""
    return int(path.stem.rpartition("-")[2])


def lines(file: IO[bytes], size: int | None = None) -> Iterator[bytes]:
    """Give the lines up to that size, with their line ends; a longer one than allowed in parts."""
    left = os.fstat(file.fileno()).st_size if size is None else size
    while left > 0 and (line := file.readline(min(left, chain.MAX_LINE_BYTES))):
        left -= len(line)
        yield line


def read_end(descriptor: int) -> tuple[Head, list[str], bytes]:
    """Give the head of the last record, the hashes of the lines after it, and a part of a line."""
    size = os.fstat(descriptor).st_size
    start = max(0, size - 4 * chain.MAX_LINE_BYTES)
    *whole, torn = os.pread(descriptor, size - start, start).split(b"\n")
    after: list[str] = []
    for line in reversed(whole):
        decoded = chain.decode(line)
        if decoded is not None:
            return Head(decoded[0]["seq"], str(decoded[0]["hash"])), after, torn
        after.insert(0, chain.digest(line))
    return chain.START, after, torn


def head_of(path: Path) -> Head:
    """Give the head of the last record of a file."""
    with path.open("rb") as file:
        return read_end(file.fileno())[0]
