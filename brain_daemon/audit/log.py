"""The audit log of one store: appending, making durable, bounding refusals, reading.

The file is only ever appended to, so ``chattr +a`` can have the kernel enforce that. Nothing that
a memory says is written here, nor any name out of one: the callers see to that, with ids.
"""

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brain_daemon.audit import chain
from brain_daemon.audit.chain import Head, Verdict
from brain_daemon.errors import BadRequest, StoreDegraded
from brain_daemon.timestamps import format_us, now_us

log = logging.getLogger(__name__)

FILE_NAME = "audit.log"
MAX_REASON_CHARS = 400

# A refused client may try again as fast as it can; what it costs the disk is bounded by these.
BURST_PER_UID, SECONDS_PER_UID = 10, 60.0
BURST, SECONDS = 100, 10.0
MAX_UIDS = 1024


class _Bucket:
    """Lets a burst through, and then one each so many seconds."""

    __slots__ = ("_burst", "_filled_at", "_level", "_seconds", "suppressed")

    def __init__(self, burst: int, seconds: float) -> None:
        self._burst = burst
        self._seconds = seconds
        self._level = float(burst)
        self._filled_at = time.monotonic()
        self.suppressed = 0

    def has_one(self) -> bool:
        now = time.monotonic()
        self._level = min(self._burst, self._level + (now - self._filled_at) / self._seconds)
        self._filled_at = now
        return self._level >= 1

    def take(self) -> None:
        self._level -= 1


class AuditLog:
    """One file, held open by the daemon that owns the store. Thread-safe.

    Parameters
    ----------
    path : Path
        Created with mode 0600 where it does not exist.

    Attributes
    ----------
    head : Head
        Of the record written last. It is remembered here, so that lines cut off behind the
        daemon's back are missed by `verify`.
    failure : str or None
        Once set, nothing is appended again.

    Raises
    ------
    StoreDegraded
        The file cannot be opened or read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._buckets: OrderedDict[int, _Bucket] = OrderedDict()
        self._all = _Bucket(BURST, SECONDS)
        self._n_appended = self._n_synced = 0
        self.failure: str | None = None
        try:
            self._file = os.open(
                path,
                os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC,
                0o600,
            )
            # What a crash or a full disk left of lines. The next record says so, by their hashes.
            self.head, self._torn_lines, self._torn = _last(self._file)
        except OSError as error:
            raise StoreDegraded(
                f"the audit log {path} cannot be opened: {error.strerror}; mend that first"
            ) from error

    def append(self, event: str, **fields: Any) -> int:
        """Append a record; give its number.

        Raises
        ------
        StoreDegraded
            It could not be written whole.
        """
        with self._lock:
            if self.failure is not None:
                raise StoreDegraded(self.failure)
            try:
                if self._torn:
                    self._end_line()
                if self._torn_lines:
                    log.warning("a line of %s was cut short; the chain goes on", self.path)
                    self._follow("audit.recovered", {"torn_sha256": self._torn_lines})
                    self._torn_lines = []
                self._follow(event, fields)
            except OSError as error:
                raise StoreDegraded(
                    f"the audit log {self.path} cannot be written ({error.strerror}), so nothing "
                    "that it must tell of is done: free some space"
                ) from error
            return self.head.seq

    def _end_line(self) -> None:
        self._write(b"\n")
        torn, self._torn = self._torn, b""
        decoded = chain.decode(torn)
        if decoded is not None and decoded[1] and decoded[0]["prev"] == self.head.hash:
            self.head = Head(decoded[0]["seq"], decoded[0]["hash"])  # only its line end was missing
        else:
            self._torn_lines.append(chain.digest(torn))

    def _follow(self, event: str, fields: dict[str, Any]) -> None:
        line, head = chain.encode(self.head, {"at": format_us(now_us()), "event": event, **fields})
        self._write(line)
        self.head = head
        self._n_appended += 1

    def _write(self, data: bytes) -> None:
        written = 0
        while written < len(data):
            try:
                written += os.write(self._file, data[written:])
            except OSError:
                self._torn += data[:written]
                raise

    def sync(self) -> None:
        """Make durable what was appended; nothing where that is so already."""
        wanted = self._n_appended
        if self._n_synced >= wanted or self.failure is not None:
            return  # after a failure nothing was appended that a commit could wait for
        try:
            os.fdatasync(self._file)
        except OSError as error:
            # A later success would prove nothing: the page cache may have dropped the lines.
            self.failure = (
                f"the audit log {self.path} could not be made durable ({error.strerror}), so "
                "nothing that it must tell of is done: mend the disk, then restart the daemon"
            )
            raise StoreDegraded(self.failure) from error
        self._n_synced = max(self._n_synced, wanted)

    def denied(self, uid: int, pid: int, method: str, reason: str, **fields: Any) -> None:
        """Tell of a refusal, unless too many were told of lately; then the next tells how many.

        A log that cannot be written makes no refusal fail.
        """
        bucket = self._bucket(uid)
        if not (bucket.has_one() and self._all.has_one()):
            bucket.suppressed += 1
            return
        if bucket.suppressed:
            fields["suppressed"] = bucket.suppressed
        try:
            self.append(
                "denied",
                uid=uid,
                pid=pid,
                method=method,
                **fields,
                reason=reason[:MAX_REASON_CHARS],
            )
        except StoreDegraded as error:
            log.warning("%s", error.message)
            return
        bucket.suppressed = 0
        bucket.take()
        self._all.take()

    def verify(self, noted: Head | None = None) -> Verdict:
        """Check the whole file against the chain, and against what this process wrote last."""
        with self._lock:
            head, size = self.head, os.fstat(self._file).st_size
        try:
            mine, there = os.fstat(self._file), self.path.stat()
            verdict = chain.verify(_lines(self.path, size), noted)
        except OSError as error:
            verdict = Verdict()
            verdict.find(f"{self.path} cannot be read: {error.strerror}")
            return verdict
        if (mine.st_dev, mine.st_ino) != (there.st_dev, there.st_ino):
            verdict.find(f"{self.path} is another file than the one that the daemon writes to")
        elif verdict.head != head:
            verdict.find(
                f"the file ends with record {verdict.head.seq}, and the daemon wrote record "
                f"{head.seq} last: lines were cut off or put in behind its back"
            )
        return verdict

    def page(self, after: int, limit: int) -> list[dict[str, Any]]:
        """Give the records after that number, the oldest first, without lines that are none."""
        found: list[dict[str, Any]] = []
        for line in _lines(self.path):
            decoded = chain.decode(line)
            if decoded is not None and decoded[0]["seq"] > after:
                found.append(decoded[0])
                if len(found) == limit:
                    break
        return found

    def close(self) -> None:
        """Tell what is still untold of refusals, and close the file; once more does nothing."""
        if self._file < 0:
            return
        untold = {str(uid): b.suppressed for uid, b in self._buckets.items() if b.suppressed}
        try:
            if untold:
                self.append("denied.more", suppressed=untold)
            self.sync()
        except StoreDegraded as error:
            log.warning("%s", error.message)
        os.close(self._file)
        self._file = -1

    def _bucket(self, uid: int) -> _Bucket:
        """Give the bucket of a uid; the one that was asked for longest ago makes room."""
        with self._lock:
            bucket = self._buckets.get(uid)
            if bucket is None:
                if len(self._buckets) >= MAX_UIDS:
                    self._buckets.popitem(last=False)
                bucket = self._buckets[uid] = _Bucket(BURST_PER_UID, SECONDS_PER_UID)
            self._buckets.move_to_end(uid)
            return bucket


def read_head(text: str) -> Head:
    """Read a head as it is printed, ``12:5f3c…``.

    Raises
    ------
    BadRequest
        It is none.
    """
    seq, _, digest = text.strip().partition(":")
    if not seq.isdecimal() or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise BadRequest(
            f"{text!r} is no head; give one as `brain audit verify` prints it, number:hash",
            field="head",
        )
    return Head(int(seq), digest)


def verify_file(path: Path, noted: Head | None = None) -> Verdict:
    """Check a log that no daemon has to be asked for, such as a copy kept elsewhere."""
    return chain.verify(_lines(path), noted)


def _lines(path: Path, size: int | None = None) -> Iterator[bytes]:
    with path.open("rb") as file:
        left = os.fstat(file.fileno()).st_size if size is None else size
        while left > 0 and (line := file.readline(min(left, chain.MAX_LINE_BYTES))):
            left -= len(line)
            yield line


def _last(descriptor: int) -> tuple[Head, list[str], bytes]:
    """Give the head of the last record, the hashes of the lines after it, and a part of a line."""
    size = os.fstat(descriptor).st_size
    start = max(0, size - 4 * chain.MAX_LINE_BYTES)
    *lines, torn = os.pread(descriptor, size - start, start).split(b"\n")
    after: list[str] = []
    for line in reversed(lines):
        decoded = chain.decode(line)
        if decoded is not None:
            return Head(decoded[0]["seq"], str(decoded[0]["hash"])), after, torn
        after.insert(0, chain.digest(line))
    return chain.START, after, torn
