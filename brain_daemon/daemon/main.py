"""``brain-daemon``: the composition root. Wires the layers, serves, drains, exits.

Order matters: lock of the socket path, lock of the store, database, model and index, socket. A
socket that systemd passed comes first, and is served even where the store cannot be opened.
"""

import asyncio
import faulthandler
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
import uvloop

from brain_daemon import __version__, config, heap, paths
from brain_daemon.config import Settings
from brain_daemon.daemon import logs, sockets, systemd, units
from brain_daemon.daemon.engine import Engine, load_policy, lock_store
from brain_daemon.daemon.watchdog import Watchdog
from brain_daemon.errors import BrainError
from brain_daemon.lock import FileLock, LockHeld
from brain_daemon.protocol.framing import Limits
from brain_daemon.protocol.server import Server
from brain_daemon.service.rebuild import reembed_store

log = logging.getLogger("brain-daemon")

EXIT_TEMPORARY = 75  # EX_TEMPFAIL: another daemon is at work; harmless to try again
EXIT_CONFIGURATION = 78  # EX_CONFIG: the store, the model or a setting must be mended first
OWN_DESCRIPTORS = 128  # the store's, the threads' and the loop's own
RETRY_S = 15.0  # from one attempt to open a store that cannot be opened to the next


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="brain-daemon")
def main() -> None:
    """The memory daemon. `brain` is the command that people type."""


def _setting_options(command: Any) -> Any:
    """The settings that have flags; all others are set by BRAIN_* variables or the file."""
    for option in (
        click.option("--store", type=click.Path(path_type=str), help="Folder of the store."),
        click.option("--socket", type=click.Path(path_type=str), help="Path of the socket."),
        click.option("--model", help="Folder of a model2vec model, or a hub name."),
        click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"])),
        click.option("--config", "file", type=click.Path(path_type=Path), help="A TOML file."),
    ):
        command = option(command)
    return command


def _reader(file: Path | None, flags: Mapping[str, str | None]) -> Callable[[], Settings]:
    """Give what reads the configuration, each time from its sources."""
    return lambda: config.load(flags, file=file or paths.default_configuration())


@main.command()
@_setting_options
def serve(file: Path | None, **flags: str | None) -> None:
    """Serve one store on one Unix socket until SIGTERM."""
    faulthandler.enable()  # says where every thread was when the watchdog ended the process
    heap.map_large_blocks()
    with _exit_codes(), ExitStack() as stack:
        engine = Engine(_reader(file, flags))
        stack.callback(engine.close)
        early: list[int] = []  # SIGHUPs before the loop hears of them, which would end the process
        signal.signal(signal.SIGHUP, lambda number, frame: early.append(number))
        inherited = systemd.inherited_socket()
        if inherited is None:
            listener = _open_and_bind(engine, stack)
        else:
            listener = inherited
            logs.configure("info")
            engine.open_or_degrade()
        uvloop.run(_run(engine, listener, early, is_shared=inherited is not None))
        log.info("stopped")


@main.command()
@click.argument("pid", type=click.IntRange(2))
@_setting_options
def reload(pid: int, file: Path | None, **flags: str | None) -> None:
    """Check configuration and policy, then have the daemon with this pid take it over (SIGHUP)."""
    with _exit_codes():
        load_policy(_reader(file, flags)())
        os.kill(pid, signal.SIGHUP)


@main.command("install-units")
@click.option("--user", is_flag=True, help="For your own user's manager, not the whole machine.")
@click.option(
    "--destdir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("/"),
    help="Write below this folder instead of /.",
)
@click.option("--dry-run", is_flag=True, help="Print the files; write nothing.")
def install_units(user: bool, destdir: Path, dry_run: bool) -> None:
    """Write the systemd units that start this installation of the daemon."""
    with _exit_codes():
        for line in units.install(user, destdir.absolute(), dry_run):
            click.echo(line)


@main.command()
@_setting_options
def reembed(file: Path | None, **flags: str | None) -> None:
    """Embed a store anew with another model (--model); the daemon must not be running."""
    with _exit_codes():
        settings = _reader(file, flags)()
        logs.configure(settings["log_level"])
        lock = lock_store(settings)
        try:
            count = reembed_store(settings)
        finally:
            lock.release()
        click.echo(f"{count} chunks embedded anew; start the daemon with the same --model")


@contextmanager
def _exit_codes() -> Iterator[None]:
    try:
        yield
    except LockHeld as error:
        _fail(f"{error}; stop it first, or choose another --store or --socket", EXIT_TEMPORARY)
    except sockets.PathInUse as error:
        _fail(str(error), EXIT_TEMPORARY)
    except (BrainError, OSError, systemd.ActivationError) as error:
        _fail(str(error), EXIT_CONFIGURATION)


def _fail(message: str, code: int) -> None:
    click.echo(f"brain-daemon: {message}", err=True)
    sys.exit(code)


def _allow_descriptors(max_connections: int) -> int:
    """Raise the soft limit of open files, by default 1,024, to what may be needed.

    Returns
    -------
    int
        How many connections it lets there be: the store must be able to open files, and who comes
        when all are taken is to be told so.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max_connections + OWN_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        if allowed < wanted:
            log.warning(
                "%d connections need %d open files; the limit is %d",
                max_connections,
                wanted,
                allowed,
            )
        max_connections = min(max_connections, max(allowed - OWN_DESCRIPTORS, allowed // 2))
    return max_connections


def _open_and_bind(engine: Engine, stack: ExitStack) -> socket.socket:
    """Open the store, then make a socket of our own at the configured path."""
    settings = engine.read_settings()
    logs.configure(settings["log_level"])
    path = settings.socket_path
    sockets.prepare_directory(path)
    stack.callback(FileLock(path.with_name(path.name + ".lock")).release)
    engine.open()
    listener = sockets.bind(path)
    stack.callback(sockets.unlink, path, sockets.identity(path))
    return listener


def _adopt(settings: Settings) -> Limits:
    """Let settings that belong to the whole process take effect, and give those of a connection."""
    logs.configure(settings["log_level"])
    return _limits_from(settings, _allow_descriptors(settings["max_connections"]))


async def _run(
    engine: Engine, listener: socket.socket, early: list[int], *, is_shared: bool
) -> None:
    admission = engine.admission
    limits = _adopt(engine.settings)
    server = Server(
        engine.dispatch, admission.admit, limits, admission.leave, engine.metrics.traffic
    )
    admission.readmit = server.readmit
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(logs.note_loop_error)

    def follow() -> None:
        """Serve what the engine now has."""
        server.dispatch = engine.dispatch
        server.limits = _adopt(engine.settings)

    def try_again() -> None:
        if engine.failure is not None:
            engine.open_or_degrade()
            follow()
            systemd.notify(_status(engine))
            loop.call_later(RETRY_S, try_again)

    def reload() -> None:
        systemd.notify_reloading()
        status = None
        try:
            pending = engine.reload()
        except (BrainError, OSError) as error:
            log.error("not reloaded, all stays as it was: %s", error)
            status = f"STATUS=not reloaded, all stays as it was: {error}"
        else:
            follow()
            log.info("reloaded")
            if pending:
                log.warning("%s changed; this takes effect at the next start", ", ".join(pending))
        systemd.notify("READY=1", status or _status(engine))

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, reload)
    if early:
        reload()
    await server.listen(listener, is_shared=is_shared)
    log.info("%s on %s (pid %d)", _describe(engine), listener.getsockname(), os.getpid())
    systemd.notify("READY=1", _status(engine))
    timeout_s = systemd.watchdog_timeout_s()
    if timeout_s is not None:
        Watchdog(timeout_s, engine.find_fault).start()
    loop.call_later(RETRY_S, try_again)
    await stop.wait()
    systemd.notify("STOPPING=1", "STATUS=answering what was asked")
    log.info("draining")
    await server.drain(engine.settings["drain_timeout_ms"] / 1000)
    engine.dispatch.close()


def _describe(engine: Engine) -> str:
    if engine.memory is None:
        return f"degraded: {engine.failure}"
    return f"serving {engine.memory.directory} ({engine.memory.snapshot.n_alive} chunks)"


def _status(engine: Engine) -> str:
    return f"STATUS={_describe(engine)}"


def _limits_from(settings: Settings, max_connections: int) -> Limits:
    """The protocol's limits as the settings say."""
    return Limits(
        max_message_bytes=settings["max_message_bytes"],
        max_response_bytes=settings["max_response_bytes"],
        max_depth=settings["max_depth"],
        max_items=settings["max_items"],
        max_connections=max_connections,
        max_in_flight=settings["max_in_flight"],
        max_in_flight_bytes=settings["max_in_flight_bytes"],
        max_unsent_bytes=settings["max_unsent_bytes"],
        max_held_bytes=settings["max_held_bytes"],
        message_timeout_s=settings["message_timeout_ms"] / 1000,
        call_timeout_s=settings["call_timeout_ms"] / 1000,
        write_timeout_s=settings["write_timeout_ms"] / 1000,
    )


if __name__ == "__main__":
    main()
