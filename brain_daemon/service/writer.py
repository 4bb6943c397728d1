"""The one thread that writes: group commit, then the next snapshot, then the answers.

All writes that wait when the thread comes round go into one transaction; one that is refused does
not undo its neighbours. A write is acknowledged only
after COMMIT returned (``synchronous=FULL``) and the snapshot that holds it was published, so an
acknowledged memory is both durable and recallable.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from time import monotonic, perf_counter_ns
from typing import Any

import apsw

from brain_daemon import heap
from brain_daemon.errors import BrainError, Overloaded, StoreDegraded
from brain_daemon.index.snapshot import Change
from brain_daemon.service.metrics import DURATIONS_NS, SIZES, Histogram
from brain_daemon.store import documents, failures, maintenance
from brain_daemon.store import log as write_ahead
from brain_daemon.store.reserve import Reserve

log = logging.getLogger(__name__)

RETRY_AFTER_MS = 100
QUIET_S = 1.0  # without a write
LOG_PAGES = 1_000  # of the write-ahead log, before it is moved into the database file
LOG_AGE_S = 60.0  # after which a shorter one is, too: what is read from the log is not verified


@dataclass(slots=True)
class WriteJob:
    """A write, already validated and prepared.

    ``apply`` runs inside the batch's transaction, perhaps twice, and gives the result for the
    caller and the changes that the index needs. One that only removes ``frees`` room, so on a full
    disk it may use what is kept for that.
    """

    apply: Callable[[apsw.Connection], tuple[Any, Sequence[Change]]]
    frees: bool = False


@dataclass(slots=True)
class PutJob:
    """A document to be stored; those that follow one another are stored together.

    ``tell`` gives the result for the caller and the changes that the index needs.
    """

    put: documents.Put
    tell: Callable[[documents.PutResult], tuple[Any, Sequence[Change]]]


@dataclass(slots=True)
class ExclusiveJob:
    """Maintenance that must run alone and outside a transaction (VACUUM, re-embedding)."""

    run: Callable[[apsw.Connection], Any]


Job = WriteJob | PutJob | ExclusiveJob


@dataclass(slots=True)
class _Waiting:
    offered: Job | None  # None once nobody waits for it
    future: asyncio.Future[Any]
    job: Job = field(init=False)  # what the thread has taken
    result: Any = None
    error: BaseException | None = None

    def note_done(self, future: asyncio.Future[Any]) -> None:
        """Withdraw the job if nobody waits for it any more: what it holds is counted nowhere."""
        if future.cancelled():
            self.offered = None

    def take(self) -> bool:
        """Take the job on the thread; from here on it is carried out. False if it is withdrawn."""
        job = self.offered
        if job is None:
            return False
        self.job = job
        return True


class _PartlyWritten(Exception):
    """A job, or one of several, failed after its first change; its cause says why."""


class Writer(threading.Thread):
    """Owns the write connection.

    Parameters
    ----------
    connection : apsw.Connection
        Used by this thread alone from ``start`` on.
    reserve : Reserve
        Of the same folder.
    publish : callable
        Takes the list of changes of a committed batch and makes the next snapshot current.
    before_commit : callable
        Called at the end of each transaction; one that raises keeps it from being committed.
    in_quiet : callable
        Called in the quiet after many writes.
    max_batch, max_waiting : int
        Writes in one commit; writes that may wait before `Overloaded` is raised.

    Attributes
    ----------
    failure : str or None
        Once it is set, no write is accepted again.
    refusal : apsw.Error or None
        Why the last transaction was refused, where the disk was full or read-only.
    commits : int
        Those that wrote anything; ``commit_ns``, ``commit_writes`` and ``commit_chunks`` say how
        long they took, and how many writes and added and removed chunks were in each.
    log_moves, log_move_failures : int
        How often the write-ahead log was moved into the file, and could not be.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        reserve: Reserve,
        publish: Callable[[list[Change]], None],
        *,
        before_commit: Callable[[], None] = lambda: None,
        in_quiet: Callable[[], None] = heap.trim,
        max_batch: int,
        max_waiting: int,
    ) -> None:
        super().__init__(name="brain-writer", daemon=True)
        self.failure: str | None = None
        self.refusal: apsw.Error | None = None
        self.commits = 0
        self.commit_ns = Histogram(DURATIONS_NS)
        self.commit_writes = Histogram(SIZES)
        self.commit_chunks = Histogram(SIZES)
        self.log_moves = 0
        self.log_move_failures = 0
        self._connection = connection
        self._reserve = reserve
        self._publish = publish
        self._before_commit = before_commit
        self._in_quiet = in_quiet
        self._max_batch = max_batch
        self._max_waiting = max_waiting
        self._gathered: list[_Waiting] = []
        self._n_waiting = 0
        self.log_pages = 0  # that are not in the file yet
        self._log_due = 0.0
        self._is_untidy = False  # enough was written
        self._runs_alone = False
        # SQLite's own checkpoint, which this replaces, tells nobody when it fails.
        connection.set_wal_hook(self._note_log)
        self._queue: queue.SimpleQueue[list[_Waiting]] = queue.SimpleQueue()

    def submit(self, job: Job) -> asyncio.Future[Any]:
        """Queue a job from the event loop's thread; the future resolves after its commit.

        Raises
        ------
        Overloaded
            Too many writes wait.
        StoreDegraded
            An earlier commit failed in a way that forbids further writes.
        """
        if self.failure is not None:
            raise StoreDegraded(f"the store takes no writes: {self.failure}")
        if self._n_waiting >= self._max_waiting:
            raise Overloaded(
                f"{self._max_waiting} writes are waiting; try again in {RETRY_AFTER_MS} ms",
                retry_after_ms=RETRY_AFTER_MS,
            )
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if not self._gathered:
            # Whatever else this turn of the loop brings shares the commit.
            loop.call_soon(self._hand_over)
        waiting = _Waiting(job, future)
        self._gathered.append(waiting)
        self._n_waiting += 1
        future.add_done_callback(waiting.note_done)
        return future

    @property
    def n_waiting(self) -> int:
        """Writes that were not carried out yet."""
        return self._n_waiting

    def stop(self) -> None:
        """Finish what waits, then end the thread and close its connection."""
        self._hand_over()
        self._queue.put([])
        self.join()

    def _hand_over(self) -> None:
        gathered, self._gathered = self._gathered, []
        if gathered:
            self._queue.put(gathered)

    def run(self) -> None:
        stopping = False
        while not stopping:
            waiting = self._wait()
            while waiting and len(waiting) < self._max_batch and not self._queue.empty():
                more = self._queue.get()
                stopping = not more
                waiting += more
            stopping = stopping or not waiting
            for batch in self._batches(self._take(waiting)):
                if isinstance(batch[0].job, ExclusiveJob):
                    self._run_alone(batch[0])
                else:
                    self._commit(batch)
                    self._tend_log()
        try:
            self._verify_log()
        except apsw.CorruptError as error:
            self._abandon(error)
        self._connection.close()

    def _wait(self) -> list[_Waiting]:
        """Wait for jobs; in the quiet tidy up after them, and move a log that became old."""
        if self._is_untidy:
            try:
                return self._queue.get(timeout=QUIET_S)
            except queue.Empty:
                self._is_untidy = False
                self._tidy_up()
        while self.log_pages and self.failure is None:
            try:
                return self._queue.get(timeout=max(0.0, self._log_due - monotonic()))
            except queue.Empty:
                self._tend_log()
        return self._queue.get()

    def _tidy_up(self) -> None:
        try:
            self._in_quiet()
        except Exception:  # for want of memory: what is there still serves
            log.exception("tidying up failed")

    def _note_log(self, connection: apsw.Connection, name: str, n_pages: int) -> int:
        if not self.log_pages:
            self._log_due = monotonic() + LOG_AGE_S
        self.log_pages = n_pages
        if self._runs_alone and n_pages >= LOG_PAGES:
            self._verify_log()  # a failure reaches the job, whose commit stands
            connection.wal_checkpoint()
        return apsw.SQLITE_OK

    def _tend_log(self) -> None:
        """Move a long or old log into the file, after the callers were answered."""
        is_due = self.log_pages >= LOG_PAGES or (self.log_pages and monotonic() >= self._log_due)
        if not is_due or self.failure is not None:
            return
        try:
            self._verify_log()
            n_pages, n_moved = self._connection.wal_checkpoint()
            if n_moved < n_pages:  # a reader needs the others
                self._note_log(self._connection, "main", n_pages)
            self._is_untidy |= n_pages >= LOG_PAGES
            self.log_moves += 1
        except Exception as error:
            self.log_move_failures += 1
            self._abandon(self._reserve.explain(error))

    def _verify_log(self) -> None:
        """What is moved into the file gets a new checksum there, so it has to be right before."""
        if not write_ahead.is_sound(write_ahead.path(self._connection), self.log_pages):
            raise apsw.CorruptError("the write-ahead log is damaged")
        self.log_pages = 0

    def _empty_log(self) -> None:
        try:
            self._verify_log()
            maintenance.checkpoint(self._connection)
            self.log_moves += 1
        except Exception as error:
            self.log_move_failures += 1
            self._abandon(self._reserve.explain(error))

    def _take(self, waiting: list[_Waiting]) -> list[_Waiting]:
        """Take the jobs that were not withdrawn."""
        taken: list[_Waiting] = []
        withdrawn: list[_Waiting] = []
        for each in waiting:
            (taken if each.take() else withdrawn).append(each)
        if withdrawn:
            self._resolve(withdrawn)
        return taken

    def _batches(self, waiting: list[_Waiting]) -> Iterator[list[_Waiting]]:
        """Cut jobs into what one commit takes, in order; an exclusive job is alone."""
        batch: list[_Waiting] = []
        for each in waiting:
            alone = isinstance(each.job, ExclusiveJob)
            if batch and (alone or len(batch) == self._max_batch):
                yield batch
                batch = []
            if alone:
                yield [each]
            else:
                batch.append(each)
        if batch:
            yield batch

    def _commit(self, batch: list[_Waiting]) -> None:
        """Write a batch; on a full disk, what frees room by the room that is kept for it."""
        if self.failure is not None or self._reserve.hold():
            self._write(batch)
        else:
            for waiting in batch:
                waiting.error = failures.translate(apsw.FullError())
        freeing = [
            waiting
            for waiting in batch
            if isinstance(waiting.job, WriteJob)
            and waiting.job.frees
            and failures.is_full(waiting.error)
        ]
        if freeing and self.failure is None:
            self._reserve.release()
            self._empty_log()
            self._write(freeing)
            self._empty_log()
            self._reserve.hold()
        self._resolve(batch)

    def _write(self, batch: list[_Waiting]) -> None:
        """Write a batch in one transaction."""
        try:
            if self.failure is not None:
                raise StoreDegraded(f"the store takes no writes: {self.failure}")
            try:
                changes = self._transact(list(_parts(batch)), self._apply)
            except _PartlyWritten:
                # Rare, so the common case does without savepoints: each makes FTS5 flush.
                self._connection.execute("ROLLBACK")
                changes = self._transact([[each] for each in batch], self._apply_in_savepoint)
        except Exception as caught:
            error = self._reserve.explain(caught)
            self._abandon(error)
            self.refusal = error if isinstance(error, failures.OF_THE_DISK) else None
            for waiting in batch:
                waiting.error = waiting.error or failures.translate(error)
        else:
            self.refusal = None
            if changes:
                self._follow(batch, changes)

    def _follow(self, batch: list[_Waiting], changes: list[Change]) -> None:
        """Let the index follow a commit; one that cannot would answer from the past for ever."""
        try:
            self._publish(changes)
        except Exception as error:
            log.exception("the index could not follow a commit")
            what = f"the index could not follow a commit ({type(error).__name__})"
            self.failure = f"{what}; restart the daemon"
            for waiting in batch:
                waiting.error = waiting.error or StoreDegraded(
                    "stored, but not recallable before the daemon is restarted"
                )

    def _transact(
        self,
        parts: Sequence[list[_Waiting]],
        apply: Callable[[list[_Waiting]], Sequence[Change]],
    ) -> list[Change]:
        connection = self._connection
        started = perf_counter_ns()
        n_before = connection.total_changes()
        connection.execute("BEGIN IMMEDIATE")
        changes = [change for part in parts for change in apply(part)]
        self._before_commit()
        connection.execute("COMMIT")
        if connection.total_changes() != n_before:  # else nothing was written
            self.commits += 1
            self.commit_ns.observe(perf_counter_ns() - started)
            done = sum(waiting.error is None for part in parts for waiting in part)
            self.commit_writes.observe(done)
            n_chunks = sum(len(c.chunk_ids) + len(c.removed_chunk_ids) for c in changes)
            self.commit_chunks.observe(n_chunks)
        return changes

    def _apply(self, part: list[_Waiting]) -> Sequence[Change]:
        """Apply a job, or documents together; one that fails before it wrote harms nobody."""
        connection = self._connection
        n_before = connection.total_changes()
        try:
            outcomes = _outcomes([waiting.job for waiting in part], connection)
        except Exception as error:
            if not connection.in_transaction:  # SQLite rolled the whole batch back (disk full)
                raise
            if len(part) > 1 or connection.total_changes() != n_before:
                raise _PartlyWritten from error
            outcomes = [error]
        changes: list[Change] = []
        for waiting, outcome in zip(part, outcomes, strict=True):
            waiting.error = None
            if isinstance(outcome, Exception):
                waiting.error = failures.translate(outcome)
            else:
                waiting.result, its_changes = outcome
                changes += its_changes
        return changes

    def _apply_in_savepoint(self, part: list[_Waiting]) -> Sequence[Change]:
        connection = self._connection
        connection.execute("SAVEPOINT job")
        changes: Sequence[Change] = ()
        try:
            changes = self._apply(part)
        except _PartlyWritten as partly:
            connection.execute("ROLLBACK TO job")
            (waiting,) = part
            waiting.error = failures.translate(partly.__cause__ or partly)
        connection.execute("RELEASE job")
        return changes

    def _run_alone(self, waiting: _Waiting) -> None:
        self._runs_alone = True
        try:
            if self.failure is not None:
                raise StoreDegraded(f"the store takes no writes: {self.failure}")
            waiting.result = waiting.job.run(self._connection)  # type: ignore[union-attr]
        except Exception as caught:
            error = self._reserve.explain(caught)
            self._abandon(error)
            waiting.error = failures.translate(error)
        finally:
            self._runs_alone = False
        with suppress(apsw.Error):  # where it cannot be asked, it has changed little
            n_pages, n_moved = self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
            self.log_pages = n_pages if n_moved < n_pages else 0  # the job may have emptied it
        self._resolve([waiting])

    def _resolve(self, batch: list[_Waiting]) -> None:
        """Hand all results of a batch to the event loop in one wake-up."""
        loop = batch[0].future.get_loop()
        try:
            loop.call_soon_threadsafe(self._set_results, batch)
        except RuntimeError:  # the loop was closed while the last batch was under way
            log.warning("the event loop ended before %d writes were answered", len(batch))

    def _set_results(self, batch: list[_Waiting]) -> None:
        self._n_waiting -= len(batch)
        for waiting in batch:
            if waiting.future.done():  # cancelled: the caller went away or ran out of time
                continue
            if waiting.error is not None:
                waiting.future.set_exception(waiting.error)
            else:
                waiting.future.set_result(waiting.result)

    def _abandon(self, error: Exception) -> None:
        """Roll back; after a failed commit or sync the handle is not trusted again."""
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except apsw.Error:
            log.exception("rollback failed")
        if isinstance(error, failures.UNSOUND):
            # As PostgreSQL does: after a failed fsync the page cache may have dropped the data
            # and a later success would prove nothing.
            self.failure = f"{error}; restart the daemon"
            if failures.is_damage(error):  # or so it looked: SQLite may say so for want of memory
                # To move the log into the file, as closing does, might make a loss final.
                self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                self.failure += ", which checks the file, and if need be `brain restore` a backup"
        if not isinstance(error, BrainError):
            said = error if isinstance(error, apsw.Error | OSError) else type(error).__name__
            log.error("writing failed: %s", said)  # what others say may quote what is stored


def _parts(batch: list[_Waiting]) -> Iterator[list[_Waiting]]:
    """Cut a batch, in its order, into documents that follow one another and single other jobs."""
    for are_puts, group in groupby(batch, key=lambda waiting: isinstance(waiting.job, PutJob)):
        if are_puts:
            yield list(group)
        else:
            yield from ([each] for each in group)


def _outcomes(jobs: list[Any], connection: apsw.Connection) -> list[Any]:
    """Give for each job of a part its result and changes, or why nothing of it was written."""
    if isinstance(jobs[0], WriteJob):
        return [jobs[0].apply(connection)]
    put = documents.put_many(connection, [job.put for job in jobs])
    told = zip(jobs, put, strict=True)
    return [done if isinstance(done, Exception) else job.tell(done) for job, done in told]
