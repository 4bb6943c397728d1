"""``brain-daemon``: the composition root. Wires the layers, serves, drains, exits.

Order matters: lock of the store, lock of the socket path, database, model and index, socket.
"""

import asyncio
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
import uvloop

from brain_daemon import __version__, config
from brain_daemon.config import Settings
from brain_daemon.daemon import logs, sockets, systemd
from brain_daemon.daemon.lock import FileLock, LockHeld
from brain_daemon.errors import BrainError
from brain_daemon.protocol.framing import Limits
from brain_daemon.protocol.server import Server
from brain_daemon.service.dispatch import Dispatcher
from brain_daemon.service.memory import Memory
from brain_daemon.service.policy import authenticate
from brain_daemon.service.rebuild import reembed_store

log = logging.getLogger("brain-daemon")

EXIT_TEMPORARY = 75  # EX_TEMPFAIL: another daemon is at work; harmless to try again
EXIT_CONFIGURATION = 78  # EX_CONFIG: the store, the model or a setting must be mended first
OWN_DESCRIPTORS = 128  # the store's, the threads' and the loop's own


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


@main.command()
@_setting_options
def serve(file: Path | None, **flags: str | None) -> None:
    """Serve one store on one Unix socket until SIGTERM."""
    with _exit_codes():
        settings = config.load(flags, file=file)
        logs.configure(settings["log_level"])
        with _locked_store(settings):
            _serve(settings)


@main.command()
@_setting_options
def reembed(file: Path | None, **flags: str | None) -> None:
    """Embed a store anew with another model (--model); the daemon must not be running."""
    with _exit_codes():
        settings = config.load(flags, file=file)
        logs.configure(settings["log_level"])
        with _locked_store(settings):
            count = reembed_store(settings)
        click.echo(f"{count} chunks embedded anew; start the daemon with the same --model")


@contextmanager
def _exit_codes() -> Iterator[None]:
    try:
        yield
    except LockHeld as error:
        _fail(f"{error}; stop it first, or choose another --store or --socket", EXIT_TEMPORARY)
    except sockets.PathInUse as error:
        _fail(str(error), EXIT_TEMPORARY)
    except (BrainError, OSError) as error:
        _fail(str(error), EXIT_CONFIGURATION)


def _fail(message: str, code: int) -> None:
    click.echo(f"brain-daemon: {message}", err=True)
    sys.exit(code)


@contextmanager
def _locked_store(settings: Settings) -> Iterator[None]:
    directory = settings.store_dir
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = FileLock(directory / "lock")
    try:
        yield
    finally:
        lock.release()


def _allow_descriptors(max_connections: int) -> None:
    """Raise the soft limit of open files, by default 1,024, to what may be needed."""
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


def _serve(settings: Settings) -> None:
    _allow_descriptors(settings["max_connections"])
    with ExitStack() as stack:
        listener = systemd.inherited_socket()
        path = settings.socket_path
        if listener is None:
            sockets.prepare_directory(path)
            stack.callback(FileLock(path.with_name(path.name + ".lock")).release)
        memory = Memory(settings)
        stack.callback(memory.close)
        if listener is None:
            listener = sockets.bind(path)
            stack.callback(sockets.unlink, path, sockets.identity(path))
        uvloop.run(_run(memory, listener, settings))
    log.info("stopped")


async def _run(memory: Memory, listener: socket.socket, settings: Settings) -> None:
    dispatcher = Dispatcher(memory)
    server = Server(dispatcher, authenticate, limits_from(settings))
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await server.listen(listener)
    log.info(
        "serving %s on %s (%d chunks, pid %d)",
        memory.directory,
        listener.getsockname(),
        memory.snapshot.n_alive,
        os.getpid(),
    )
    systemd.notify("READY=1")
    await stop.wait()
    systemd.notify("STOPPING=1")
    log.info("draining")
    await server.drain(settings["drain_timeout_ms"] / 1000)
    dispatcher.close()


def limits_from(settings: Settings) -> Limits:
    """The protocol's limits as the settings say."""
    return Limits(
        max_message_bytes=settings["max_message_bytes"],
        max_response_bytes=settings["max_response_bytes"],
        max_depth=settings["max_depth"],
        max_items=settings["max_items"],
        max_connections=settings["max_connections"],
        max_in_flight=settings["max_in_flight"],
        max_in_flight_bytes=settings["max_in_flight_bytes"],
        max_unsent_bytes=settings["max_unsent_bytes"],
        message_timeout_s=settings["message_timeout_ms"] / 1000,
        call_timeout_s=settings["call_timeout_ms"] / 1000,
        write_timeout_s=settings["write_timeout_ms"] / 1000,
    )


if __name__ == "__main__":
    main()
