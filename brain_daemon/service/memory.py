"""The one store that this process owns, opened: writer, readers, model, current snapshot."""

import gc
import logging
import threading
from pathlib import Path

import apsw

from brain_daemon import heap
from brain_daemon.audit.log import FILE_NAME, AuditLog
from brain_daemon.config import Settings
from brain_daemon.embedding.model import StaticModel
from brain_daemon.errors import StoreDegraded
from brain_daemon.index import load as index_load
from brain_daemon.index.snapshot import Change, Snapshot
from brain_daemon.policy.rules import Policy
from brain_daemon.service import rebuild
from brain_daemon.service.admission import Admission
from brain_daemon.service.metrics import Metrics
from brain_daemon.service.traces import Traces
from brain_daemon.service.writer import Writer
from brain_daemon.store import checksums, connection, failures, maintenance, schema
from brain_daemon.store import log as write_ahead
from brain_daemon.store.capacity import UNBOUNDED, Capacity
from brain_daemon.store.reserve import Reserve
from brain_daemon.text.analyzer import ANALYZER_VERSION, Analyzer

log = logging.getLogger(__name__)


class Memory:
    """Everything an operation may need, wired once at start-up.

    ``admission`` is what lets peers in; by default the own user alone. ``metrics`` is where calls
    are counted.

    ``snapshot`` is replaced as a whole by the writer thread; take it once per call and keep it.

    Raises
    ------
    ModelMismatch, SchemaTooNew, StoreDegraded
        When the store on disk is not one that this process can serve.
    """

    def __init__(
        self,
        settings: Settings,
        admission: Admission | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = metrics or Metrics()
        self.is_damaged = False
        self.directory: Path = settings.store_dir
        self.database = self.directory / connection.DATABASE_NAME
        self.analyzer = Analyzer(settings["language"])
        self.model = StaticModel.load(settings["model"] or None)
        self.traces = Traces()
        self.admission = admission or Admission(Policy.of_own_user())
        self._readers = threading.local()
        self.reserve = Reserve(self.directory)
        with failures.translated():
            write_connection = self._open_writer()
            try:
                damage = maintenance.settle(write_connection)
                if damage.is_treacherous:
                    raise StoreDegraded(_told(damage))
                self._prepare(write_connection)
                self.snapshot: Snapshot = index_load.load(write_connection, self.model.dim)
            except BaseException:
                write_connection.close()
                raise
        self._opened_as = self._standing()
        self.audit = self.admission.audit = AuditLog(
            self.directory / FILE_NAME, settings["audit_file_bytes"], settings["audit_files"]
        )
        self.writer = Writer(
            write_connection,
            self.reserve,
            self._publish,
            before_commit=self.audit.sync,
            in_quiet=self._tidy,
            max_batch=settings["write_batch"],
            max_waiting=settings["write_queue"],
        )
        if damage.findings:
            self.note_damage(_told(damage))
        self.reader()  # the event loop's own, while there are descriptors for it
        # The loaded index lives as long as the process: the collector need not walk it.
        gc.collect()
        gc.freeze()
        heap.trim()
        self.reserve.hold()
        self.writer.start()

    def _open_writer(self) -> apsw.Connection:
        """Open the file, on a full disk with the room that is kept for forgetting."""
        try:
            return connection.open_writer(self.database)
        except apsw.Error as error:
            is_full = isinstance(self.reserve.explain(error), apsw.FullError)
            if not (is_full and self.reserve.release()):
                raise
            return connection.open_writer(self.database)

    def _prepare(self, write_connection: apsw.Connection) -> None:
        try:
            schema.prepare(
                write_connection,
                dim=self.model.dim,
                model_fingerprint=self.model.fingerprint,
                model_name=self.model.name,
                analyzer_version=ANALYZER_VERSION,
                language=self.settings["language"],
            )
        except schema.StaleTerms as stale:
            log.warning("%s", stale)
            rebuild.replace_terms(write_connection, self.reader(), self.analyzer)

    @property
    def capacity(self) -> Capacity:
        """What the store may hold, by the settings of now."""
        chunks, n_bytes = self.settings["max_chunks"], self.settings["max_store_bytes"]
        return Capacity(chunks, n_bytes) if chunks or n_bytes else UNBOUNDED

    @property
    def is_in_place(self) -> bool:
        """Whether the file that is served still stands where the next start will look for it."""
        return self._standing() == self._opened_as

    def _standing(self) -> tuple[int, int] | None:
        try:
            status = self.database.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def reader(self) -> apsw.Connection:
        """This thread's own read connection."""
        try:
            return self._readers.connection
        except AttributeError:
            self._readers.connection = connection.open_reader(self.database)
            return self._readers.connection

    def note_damage(self, what: str) -> None:
        """Take no more writes: they would only spread it. What is sound is read as before."""
        if self.writer.failure is None:
            log.error("%s", what)
            self.writer.failure = what
            self.is_damaged = True

    def check_log(self) -> bool:
        """Tell whether the log is sound; if it is damaged, take no more writes."""
        path = write_ahead.path(self.reader())
        is_sound = write_ahead.is_sound_in_use(path, lambda: self.writer.log_pages)
        if not is_sound:
            self.note_damage(
                "the write-ahead log is damaged; restart the daemon, which checks the file, and if "
                "need be `brain restore` a backup"
            )
        return is_sound

    def check_pages(self) -> list[str]:
        """Tell what is wrong with the file's pages; if anything is, take no more writes."""
        damage = checksums.check_in_use(self.database)
        if damage.findings:
            self.note_damage(_told(damage))
        return damage.findings

    def reload(self, source: apsw.Connection) -> None:
        """Rebuild the snapshot from the store (after re-embedding or a failed advance)."""
        self.snapshot = index_load.load(
            source, self.model.dim, generation=self.snapshot.generation + 1
        )

    def close(self) -> None:
        """Commit what waits, move the log into the file, and close both.

        On the thread that made it, after the threads of the heavy calls have ended.
        """
        self.reader().close()  # the writer, closed last, then leaves no log behind
        del self._readers.connection
        self.writer.stop()
        self.audit.close()

    def _publish(self, changes: list[Change]) -> None:
        try:
            following = self.snapshot.advance(changes)
        except Exception:
            # The commit stands, so the mirror must follow it: fall back to a full load.
            log.exception("could not advance the index; loading it from the store")
            self.reload(self.reader())
            return
        self.snapshot = following
        if following.needs_rebuild:
            self.reload(self.reader())

    def _tidy(self) -> None:
        """After many writes: put the index into one piece, as when it was loaded."""
        self.snapshot = self.snapshot.compact()
        heap.trim()


def _told(damage: checksums.Check) -> str:
    return f"{'; '.join(damage.findings)}: restore a backup with `brain restore`"
