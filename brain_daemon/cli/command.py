"""What every command shares: an example in its help, ``--json``, the connection, exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from brain_daemon import paths
from brain_daemon.cli import exits
from brain_daemon.errors import BrainError, ConnectionLost

if TYPE_CHECKING:
    from brain_daemon.client import Client

TIMEOUT_S = 30.0
LONG_TIMEOUT_S = 3600.0  # for what reads or writes a whole store


class Command(click.Command):
    """A command with an example, shown in its own help and in that of the group."""

    def __init__(self, *args: Any, example: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.example = example

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Example"):
            formatter.write(f"{'':>{formatter.current_indent}}$ {self.example}\n")

    def invoke(self, ctx: click.Context) -> Any:
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except ConnectionLost as error:
            raise unreachable(socket_path(ctx), error) from error
        except BrainError as error:
            raise exits.failure(error) from error
        except KeyboardInterrupt:
            raise exits.Failure("interrupted", exits.INTERRUPTED) from None
        except BrokenPipeError:
            _abandon_output()
            ctx.exit(exits.PIPE_CLOSED)
        except OSError as error:
            _abandon_output()
            fail_on_file(error.filename or "standard output", error)


def _abandon_output() -> None:
    """Keep the interpreter from flushing once more, at its end, what nobody can take."""
    if sys.__stdout__ is not None and sys.stdout is sys.__stdout__:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())


def command(example: str, **attributes: Any) -> Callable[[Callable[..., Any]], Command]:
    """Declare a function named ``<command>_command`` as that command."""

    def declare(function: Callable[..., Any]) -> Command:
        name = function.__name__.removesuffix("_command").replace("_", "-")
        return click.command(name, cls=Command, example=example, **attributes)(function)

    return declare


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document instead of text."
)


def socket_path(ctx: click.Context | None = None) -> Path:
    """Give the socket of ``--socket`` or ``BRAIN_SOCKET``, else where a daemon is to be found."""
    given = (ctx or click.get_current_context()).find_root().params.get("socket")
    return Path(given) if given else paths.find_socket()


@contextmanager
def daemon(timeout_s: float = TIMEOUT_S) -> Iterator[Client]:
    """Connect to the daemon for the length of the block; each call waits ``timeout_s``."""
    from brain_daemon.client import Client

    with Client(socket_path(), timeout_s=timeout_s) as client:
        yield client


def unreachable(path: Path, error: ConnectionLost) -> exits.Failure:
    """Say why the daemon at ``path`` cannot be reached, and the cure."""
    start = "start it with `brain-daemon serve`"
    match error.__cause__:
        case FileNotFoundError():
            why = f"there is no socket; {start}"
        case ConnectionRefusedError() if path.is_socket():
            why = f"nothing listens there; {start}"
        case ConnectionRefusedError():
            why = "it is not a socket; give the daemon's own with --socket"
        case PermissionError():
            why = "you may not connect; `brain doctor` says more"
        case OSError() as cause:
            why = f"{cause.strerror or cause}; `brain doctor` says more"
        case _:  # it went away after it was reached
            return exits.failure(error)
    return exits.Failure(f"cannot reach the daemon at {path}: {why}", exits.UNREACHABLE)


def fail_on_file(path: str | Path, error: OSError | ValueError) -> NoReturn:
    """End the command because a local file cannot be read or written."""
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    raise exits.Failure(f"{path}: {reason}", exits.LOCAL_FILE) from error


def check_replaceable(path: Path) -> None:
    """End the command where a link or a device would be replaced: root could do even that."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise exits.Failure(f"{path} is not a regular file: choose another", exits.LOCAL_FILE)
