"""The write-ahead log: whether its frames are as they were written.

SQLite verifies the checksums of frames when it opens a log that a crash left, and takes the first
that does not match for its end. That is right for a write that a power cut tore; where an older
frame was damaged, it would silently drop every commit behind it. And it verifies nothing when it
reads a page from the log, or moves one into the file. Format: "WAL-mode File Format" in SQLite's
documentation.
"""

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import numpy as np
import numpy.typing as npt

from brain_daemon._ext.checksum import chained
from brain_daemon.store.checksums import PAGE_BYTES

_HEADER_BYTES = 32
_FRAME_BYTES = 24 + PAGE_BYTES
_BLOCK_FRAMES = 128  # read at one time
_BIG_ENDIAN = 0x377F0683

Flags = npt.NDArray[np.bool_]


def path(conn: apsw.Connection) -> Path:
    """Give where the log of a connection is, whether there is one now or not."""
    return Path(f"{conn.filename}-wal")


def is_sound(log: Path, n_frames: int) -> bool:
    """Tell whether the first frames of a log are all as they were written.

    Parameters
    ----------
    log : Path
        The log of a database that is open; only later frames are written meanwhile.
    n_frames : int
        How many frames the last commit left.
    """
    n_seen = 0
    for valid, _ in _frames(log):
        valid = valid[: n_frames - n_seen]
        if not valid.all():
            return False
        n_seen += len(valid)
        if n_seen == n_frames:
            return True
    return n_seen == n_frames


def is_sound_in_use(log: Path, n_frames: Callable[[], int]) -> bool:
    """Tell the same of a log that may be emptied, or begun anew, meanwhile.

    Parameters
    ----------
    n_frames : callable
        Gives how many frames there are; none between the log's being moved into the file and the
        next commit.
    """
    while True:
        header = _header(log)
        if is_sound(log, n_frames()):
            return True
        later = _header(log)
        if not later or later == header:
            return not later


def n_cut_off(log: Path) -> int:
    """Count commits that SQLite would drop though they had been made durable.

    A frame that follows a commit was written after that commit was synced. So a commit behind the
    first damaged frame was acknowledged if the frame after it continues its checksum; of the very
    last commit nobody can tell.
    """
    is_cut = False
    n_lost = 0
    ends_in_commit = False  # of the frame before
    for valid, is_commit in _frames(log):
        for is_valid, commits in zip(valid.tolist(), is_commit.tolist(), strict=True):
            n_lost += is_cut and ends_in_commit and is_valid
            is_cut = is_cut or not is_valid
            ends_in_commit = commits and is_cut
    return n_lost


def _header(log: Path) -> bytes:
    try:
        with log.open("rb") as file:
            return file.read(_HEADER_BYTES)
    except FileNotFoundError:
        return b""


def _frames(log: Path) -> Iterator[tuple[Flags, Flags]]:
    """Blocks of (continues the checksum of the frame before, is of this log and ends a commit)."""
    try:
        file = log.open("rb")
    except FileNotFoundError:
        return
    with file:
        header = file.read(_HEADER_BYTES)
        if len(header) < _HEADER_BYTES:
            return
        is_big = struct.unpack_from(">I", header)[0] == _BIG_ENDIAN
        salts = np.frombuffer(header, ">u4", 2, 16).astype(np.uint32)
        stored = np.frombuffer(header, ">u4", 2, 24).astype(np.uint32)
        words = np.frombuffer(header, np.uint8, 24)[None]
        if not np.array_equal(chained(words, np.zeros((1, 2), np.uint32), is_big)[0], stored):
            # Nothing of the log is read then; whose frames they are, the first one says.
            salts = np.frombuffer(file.read(_FRAME_BYTES)[:16].ljust(16, b"\0"), ">u4", 2, 8)
            file.seek(_HEADER_BYTES)
            stored = ~stored
        block = np.empty((_BLOCK_FRAMES, _FRAME_BYTES), np.uint8)
        while n_frames := file.readinto(block.data) // _FRAME_BYTES:
            frames = block[:n_frames]
            fields = np.ascontiguousarray(frames[:, :24]).view(">u4").astype(np.uint32)
            before = np.concatenate((stored[None], fields[:-1, 4:]))
            is_ours = (fields[:, 2:4] == salts).all(axis=1)
            found = chained(frames[:, 24:], chained(frames[:, :8], before, is_big), is_big)
            valid = is_ours & (found == fields[:, 4:]).all(axis=1)
            yield valid, is_ours & (fields[:, 1] != 0)
            stored = fields[-1, 4:]
