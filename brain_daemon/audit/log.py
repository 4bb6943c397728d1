"""The audit log of one store: appending, making durable, bounding refusals and files, reading.

The file is only ever appended to, so ``chattr +a`` can have the kernel enforce that (which keeps it
from being put aside, too). Nothing that a memory says is written here, nor any name out of one: the
callers see to that, with ids.
"""

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from brain_daemon.audit import chain, files
from brain_daemon.audit.chain import Head, Verdict
from brain_daemon.errors import BadRequest, StoreDegraded
from brain_daemon.timestamps import format_us, now_us

log = logging.getLogger(__name__)
T = TypeVar("T")

FILE_NAME = "audit.log"
MAX_REASON_CHARS = 400
MAX_DROPPED = 100  # files that one record tells of

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
    """The file that is written, held open by who owns the store, and those put aside. Thread-safe.

    Parameters
    ----------
    path : Path
        Created with mode 0600 where it does not exist.
    max_bytes : int, optional
        Of one file: before a record is appended to a larger one, that is put aside.
    max_files : int
        The one that is written included; the oldest are removed, which the log tells of.

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

    def __init__(self, path: Path, max_bytes: int | None = None, max_files: int = 2) -> None:
        self.path = path
        self._max_bytes = self._full_bytes = max_bytes or 0
        self._max_files = max_files
        self._lock = threading.Lock()
        self._buckets: OrderedDict[int, _Bucket] = OrderedDict()
        self._all = _Bucket(BURST, SECONDS)
        self._n_appended = self._n_synced = 0
        self.failure: str | None = None
        try:
            self._file = self._open()
            # What a crash or a full disk left of lines. The next record says so, by their hashes.
            self.head, self._torn_lines, self._torn = files.read_end(self._file)
            older = files.put_aside(path)
            if self.head == chain.START and older:  # nothing was written since that one was full
                self.head = files.head_of(older[-1])
        except OSError as error:
            raise StoreDegraded(
                f"the audit log {path} cannot be opened: {error.strerror}; mend that first"
            ) from error

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, 0o600)
        if os.geteuid() == 0:  # who may restore; the daemon's user has to go on with it
            owner = self.path.parent.stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
        return descriptor

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
                if self._is_full():
                    self._put_aside()
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

    def _is_full(self) -> bool:
        """Whether the file is; not while it ends with lines that its next record must tell of."""
        if not self._full_bytes or self._torn_lines:
            return False
        return os.fstat(self._file).st_size >= self._full_bytes

    def _put_aside(self) -> None:
        """Begin a new file, whose first record names the end of the full one."""
        self._make_durable(os.fdatasync, self._file)
        full = files.aside(self.path, self.head.seq)
        with ExitStack() as stack:
            try:
                # Before anything is moved: that it cannot be opened is no failed sync.
                folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
                stack.callback(os.close, folder)
                self.path.rename(full)
                try:
                    opened = self._open()
                except OSError:
                    full.rename(self.path)
                    raise
            except OSError as error:  # it is as good a log when it is longer
                log.warning(
                    "%s is full and cannot be put aside (%s): it goes on growing",
                    self.path,
                    error.strerror,
                )
                self._full_bytes = os.fstat(self._file).st_size + self._max_bytes
                return
            os.close(self._file)
            self._file = opened
            self._full_bytes = self._max_bytes
            self._make_durable(os.fsync, folder)
        self._drop_oldest(full)

    def _drop_oldest(self, full: Path) -> None:
        """Tell of the files that are removed, by their ends, before they are."""
        older = files.put_aside(self.path)
        dropped: dict[Path, str] = {}
        for path in older[: min(MAX_DROPPED, max(0, len(older) + 1 - self._max_files))]:
            try:
                dropped[path] = str(files.head_of(path))
            except OSError as error:  # without its end nothing after it could be dropped either
                log.warning("%s is kept, for it cannot be read: %s", path, error.strerror)
                break
        self._follow(chain.ROTATED, {"file": full.name, "dropped": list(dropped.values())})
        if dropped:
            self._make_durable(os.fdatasync, self._file)
        for path in dropped:
            with suppress(OSError):  # the next turn comes to it again
                path.unlink()

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
        with self._lock:
            wanted = self._n_appended
            if self._n_synced >= wanted or self.failure is not None:
                return  # after a failure nothing was appended that a commit could wait for
            try:
                file = os.dup(self._file)  # another may take its place meanwhile
            except OSError as error:
                raise StoreDegraded(
                    f"the audit log {self.path} could not be synced ({error.strerror}), so what "
                    "it tells of is not done: try again"
                ) from error
        try:
            self._make_durable(os.fdatasync, file)
        finally:
            os.close(file)
        self._n_synced = max(self._n_synced, wanted)

    def _make_durable(self, sync: Callable[[T], None], what: T) -> None:
        try:
            sync(what)
        except OSError as error:
            # A later success would prove nothing: the page cache may have dropped the lines.
            self.failure = (
                f"the audit log {self.path} could not be made durable ({error.strerror}), so "
                "nothing that it must tell of is done: mend the disk, then restart the daemon"
            )
            raise StoreDegraded(self.failure) from error

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
        """Check all files against the chain, and against what this process wrote last."""
        with ExitStack() as stack:
            try:
                with self._lock:
                    head, size = self.head, os.fstat(self._file).st_size
                    mine, opened = os.fstat(self._file), self._open_all(stack)
                *older, current = opened
                there = os.fstat(current.fileno())
                verdict = chain.verify(_all_lines(older, current, size), noted)
            except OSError as error:
                verdict = Verdict()
                verdict.find(f"{error.filename or self.path} cannot be read: {error.strerror}")
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
        """Give the records after that number, the oldest first, without lines that are none.

        Raises
        ------
        StoreDegraded
            A file that has some of them cannot be opened.
        """
        found: list[dict[str, Any]] = []
        with ExitStack() as stack:
            try:
                with self._lock:
                    opened = self._open_all(stack, after)
            except OSError as error:
                raise StoreDegraded(
                    f"{error.filename or self.path} cannot be read ({error.strerror}): mend that"
                ) from error
            for line in (line for file in opened for line in files.lines(file)):
                decoded = chain.decode(line)
                if decoded is not None and decoded[0]["seq"] > after:
                    found.append(decoded[0])
                    if len(found) == limit:
                        break
        return found

    def _open_all(self, stack: ExitStack, after: int = 0) -> list[IO[bytes]]:
        """Open the files with records after that number, the oldest first."""
        older = [path for path in files.put_aside(self.path) if files.last_seq(path) > after]
        return [stack.enter_context(path.open("rb")) for path in (*older, self.path)]

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
    """Check a log that no daemon has to be asked for, such as a copy kept elsewhere.

    What was put aside is looked for beside it.
    """
    with ExitStack() as stack:
        every = [*files.put_aside(path), path]
        *older, current = (stack.enter_context(one.open("rb")) for one in every)
        return chain.verify(_all_lines(older, current), noted)


@contextmanager
def telling(path: Path, event: str, /, **fields: Any) -> Iterator[dict[str, Any]]:
    """Tell of what is done to a store that no daemon serves, and how it ended.

    Yields
    ------
    dict
        What to tell of the result, to be filled in.

    Raises
    ------
    StoreDegraded
        It cannot be told, so it is not done.
    """
    audit = AuditLog(path)
    who = {"uid": os.getuid(), "pid": os.getpid()}
    try:
        seq = audit.append(event, step="begun", **who, **fields)
        audit.sync()
        result: dict[str, Any] = {}
        try:
            yield result
        except BaseException as error:
            with suppress(StoreDegraded):
                audit.append(event, step="failed", **who, of=seq, error=type(error).__name__)
            raise
        audit.append(event, step="done", **who, of=seq, **result)
    finally:
        audit.close()


def _all_lines(
    older: Sequence[IO[bytes]], current: IO[bytes], size: int | None = None
) -> Iterator[bytes]:
    for file in older:
        yield from files.lines(file)
    yield from files.lines(current, size)
