"""What stands behind the socket: the opened store, or the reason why it could not be opened.

Here: opening it as the configuration says, doing so again, taking over a changed configuration.
Not here: the socket, signals, and what systemd is told (``main``). Layer: daemon.
"""

import logging
from collections.abc import Callable
from contextlib import ExitStack, suppress

from brain_daemon import __version__, config, paths
from brain_daemon.config import Settings
from brain_daemon.errors import BadRequest, BrainError, StoreDegraded
from brain_daemon.lock import FileLock, LockHeld
from brain_daemon.policy.file import load_default
from brain_daemon.policy.rules import Policy
from brain_daemon.service.admission import Admission, told
from brain_daemon.service.degraded import Degraded
from brain_daemon.service.dispatch import Dispatcher
from brain_daemon.service.memory import Memory
from brain_daemon.service.metrics import Metrics

log = logging.getLogger("brain-daemon")

FORESEEN = (BrainError, OSError, LockHeld)


class Engine:
    """The store with all that it needs, and how it came about.

    ``dispatch`` and ``settings`` are replaced by `open`, `open_or_degrade` and `reload`: whoever
    uses them takes them anew after each. ``admission`` stays, and holds without a store, too.

    Parameters
    ----------
    read_settings : callable
        Reads the configuration, each time from its sources.
    """

    def __init__(self, read_settings: Callable[[], Settings]) -> None:
        self.read_settings = read_settings
        self._resources = ExitStack()
        self.settings: Settings = config.load({}, {})
        self.memory: Memory | None = None
        self.metrics = Metrics()
        # Without a readable configuration nobody knows who else may be told what is wrong.
        self.admission = Admission(Policy.of_own_user(), lambda: load_policy(self.settings))
        self.dispatch: Dispatcher | Degraded = Degraded(
            StoreDegraded("the store is not open yet"), self.metrics
        )

    @property
    def failure(self) -> str | None:
        """Why there is no store, or None when there is one."""
        return self.dispatch.reason.message if isinstance(self.dispatch, Degraded) else None

    def open(self) -> None:
        """Read configuration and policy, lock the store, and open it.

        Raises
        ------
        LockHeld
            Another process owns the store.
        BrainError, OSError
            Configuration, policy or store cannot be used; nothing stays open. While the policy is
            what cannot be used, nobody is let in.
        """
        settings = self.settings = self.read_settings()  # its log and limits hold without a store
        try:
            policy = load_policy(settings)
        except BrainError as error:
            self.admission.replace(Policy.closed(error.message))
            raise
        self.admission.replace(policy)
        self.admission.reload_failure = None
        with ExitStack() as resources:
            resources.callback(lock_store(settings).release)
            memory = Memory(settings, self.admission, self.metrics)
            resources.callback(memory.close)
            memory.audit.append("daemon.start", product=__version__, **told(policy))
            resources.callback(_tell_stop, memory)
            self._resources = resources.pop_all()
        log.info("policy: %s", policy.source or "no file, so the own user only")
        log.info("the audit log begins with %s", memory.audit.head)
        self.memory, self.dispatch = memory, Dispatcher(memory)

    def open_or_degrade(self) -> None:
        """Open the store; if that fails, have every call answered by the reason.

        For a daemon whose socket is another's: if it ended instead, it would only be started again
        and again, and its clients would learn nothing.
        """
        try:
            self.open()
        except Exception as error:
            reason = _reason(error)
            if not isinstance(error, FORESEEN):
                log.exception("could not open the store")
            elif reason.message != self.failure:
                log.error("degraded: %s", reason.message)
            self.dispatch = Degraded(reason, self.metrics)

    def reload(self) -> list[str]:
        """Take over changed configuration and policy; without a store, try to open it instead.

        All of it is checked before any of it is taken over.

        Returns
        -------
        list of str
            The settings that changed and must wait for a restart.

        Raises
        ------
        BrainError, OSError
            Something in it cannot be used; all stays as it was.
        """
        if self.memory is None:
            self.open_or_degrade()
            return []
        try:
            settings, pending = self.read_settings().taken_over_by(self.settings)
        except BrainError as error:
            self.admission.reload_failure = error.message
            raise
        self.admission.reload(load=lambda: load_policy(settings))
        self.settings = self.memory.settings = settings
        return pending

    def find_fault(self) -> str | None:
        """Give what only a restart of the process can mend, or None."""
        if self.memory is not None and not self.memory.writer.is_alive():
            return "the writer thread has ended"
        return None

    def close(self) -> None:
        """Commit what waits, close the store, release its lock; ``dispatch`` is closed before."""
        self._resources.close()


def load_policy(settings: Settings) -> Policy:
    """Load the policy that the settings name, or that in the usual place, or the own user's.

    Raises
    ------
    BadRequest
        It cannot be used; the message names the rule and the cure.
    """
    return load_default(settings["policy"], paths.default_policy_path())


def lock_store(settings: Settings) -> FileLock:
    """Make the store's folder where there is none, and lock it.

    Raises
    ------
    LockHeld
        Another process owns it.
    """
    directory = settings.store_dir
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return FileLock(directory / "lock")


def _tell_stop(memory: Memory) -> None:
    with suppress(StoreDegraded):
        memory.audit.append("daemon.stop")
    log.info("the audit log ends with %s", memory.audit.head)


def _reason(error: Exception) -> BrainError:
    """Give what clients are told; none of them sent a bad request."""
    if isinstance(error, BrainError) and not isinstance(error, BadRequest):
        return error
    # What others say may quote what is stored, and this is told to everybody.
    said = str(error) if isinstance(error, FORESEEN) else f"{type(error).__name__}, see the log"
    return StoreDegraded(f"{said}; mend this, then reload or restart the daemon")
