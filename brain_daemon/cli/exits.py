"""The exit codes of ``brain``: one table, shown in the help and kept by tests."""

from typing import Any

import click

from brain_daemon.cli.output import safe
from brain_daemon.errors import BrainError

OK = 0
NEGATIVE = 1
USAGE = 2
UNREACHABLE = 3
REFUSED = 4
FORBIDDEN = 5
RETRY = 6
LOCAL_FILE = 7
INTERRUPTED = 130
PIPE_CLOSED = 141

MEANINGS: dict[int, str] = {
    OK: "done",
    NEGATIVE: "done, and the answer is no: nothing found, a fault found, a file that failed",
    USAGE: "the command line or a value in it is wrong (bad_request)",
    UNREACHABLE: "cannot reach the daemon, or it went away before it answered",
    REFUSED: "the daemon answered with an error",
    FORBIDDEN: "the daemon's policy does not allow it (forbidden)",
    RETRY: "too busy or too late; the same call may succeed later (overloaded, deadline_exceeded)",
    LOCAL_FILE: "a file given to the command cannot be read or written",
    INTERRUPTED: "interrupted from the keyboard",
    PIPE_CLOSED: "the reader of the output went away",
}

# Every wire code that is not named here is REFUSED.
_BY_CODE: dict[str, int] = {
    "bad_request": USAGE,
    "not_found": NEGATIVE,
    "connection_lost": UNREACHABLE,
    "forbidden": FORBIDDEN,
    "overloaded": RETRY,
    "deadline_exceeded": RETRY,
}

# Where its log may say more than the message, which for `internal` names the request already.
_OF_THE_DAEMON = frozenset({"store_degraded", "deadline_exceeded", "overloaded"})


def exit_code(error: BrainError) -> int:
    """Give the exit code of an error that crossed the socket."""
    return _BY_CODE.get(error.code, REFUSED)


class Failure(click.ClickException):
    """One line for standard error and the exit code that goes with it.

    Parameters
    ----------
    message : str
        What happened and the cure. Control characters in it are escaped when it is shown.
    code : int
        One of the codes of this module.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.exit_code = code  # type: ignore[misc]

    def show(self, file: Any = None) -> None:
        click.echo(f"brain: {safe(self.message)}", file=file, err=file is None)


def failure(error: BrainError) -> Failure:
    """Turn an error of the daemon or of the connection into a line and an exit code."""
    message = error.message or "the daemon gave no reason"
    retry_ms = error.detail.get("retry_after_ms")
    if isinstance(retry_ms, int | float):
        message += f" (try again in {retry_ms:.0f} ms)"
    if error.code == "internal":
        message = f"the daemon failed inside: {message}"
    elif error.code in _OF_THE_DAEMON and (request := error.detail.get("request")):
        message += f" (request {request})"
    return Failure(message, exit_code(error))
