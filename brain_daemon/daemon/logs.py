"""Logging: lines for people, or for the journal; never the text of a memory or a query.

A line is a message, then ``name=value`` fields, among them the request that it belongs to. Of an
exception it has the kind and where it happened: what an exception says may quote what was stored.
"""

import asyncio
import json
import logging
import os
import re
import sys
import threading
import traceback
from collections.abc import Mapping
from types import TracebackType
from typing import Any, ClassVar

from brain_daemon import calls
from brain_daemon.errors import BrainError

OWN = ("brain-daemon", "brain_daemon")
"""The loggers of this program; of others only warnings are told."""

log = logging.getLogger("brain-daemon")

_PLAIN = re.compile(r"[^\s\"=\x00-\x1f\x7f-\x9f]+")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class _Formatter(logging.Formatter):
    """One line for a record, so that nothing in it can pass for another, and one a frame."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join((self.head(record) + self.line(record), *self.frames(record)))

    def head(self, record: logging.LogRecord) -> str:
        return f"{self.formatTime(record)} {record.levelname:<7} "

    def line(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = dict(getattr(record, "fields", {}))
        call = calls.current.get()
        if call is not None:
            fields["request"] = call.request
        message = _CONTROL.sub(lambda found: repr(found[0])[1:-1], record.getMessage())
        return " ".join((f"{record.name}: {message}", *map(_field, fields.items())))

    def frames(self, record: logging.LogRecord) -> list[str]:
        if not record.exc_info or record.exc_info[1] is None:
            return []
        return describe(record.exc_info[1])


class _JournalFormatter(_Formatter):
    """``<3>`` to ``<7>`` in front of each line: the journal reads the priority from it."""

    PRIORITIES: ClassVar[dict[int, int]] = {
        logging.DEBUG: 7,
        logging.INFO: 6,
        logging.WARNING: 4,
        logging.ERROR: 3,
        logging.CRITICAL: 2,
    }

    def head(self, record: logging.LogRecord) -> str:
        return f"<{self.PRIORITIES.get(record.levelno, 6)}>"

    def frames(self, record: logging.LogRecord) -> list[str]:
        head = self.head(record)
        return [head + line for line in super().frames(record)]


def describe(error: BaseException) -> list[str]:
    """Tell kind and place of an exception and of what led to it, without what they say."""
    lines: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        kind = type(current)
        number = getattr(current, "errno", None) or getattr(current, "extendedresult", None)
        told = f" ({number})" if isinstance(number, int) else ""
        if isinstance(current, BrainError):
            told = f" ({current.code})"
        lines.append(f"{kind.__module__}.{kind.__qualname__}{told}")
        for frame in traceback.extract_tb(current.__traceback__):
            lines.append(f"  {frame.filename}:{frame.lineno} in {frame.name}")
        current = current.__cause__ or (
            None if current.__suppress_context__ else current.__context__
        )
    return lines


def configure(level: str) -> None:
    """Log to standard error, in the journal's form when that is where it leads."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JournalFormatter() if is_journal() else _Formatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # At debug a Markdown parser tells each step: thousands of lines a text, and who knows of what.
    logging.root.setLevel(max(logging.root.level, logging.WARNING))
    for name in OWN:
        logging.getLogger(name).setLevel(level.upper())
    # What would be printed by default quotes the exception.
    logging.raiseExceptions = False
    sys.excepthook = _note_exception
    sys.unraisablehook = _note_unraisable
    threading.excepthook = lambda of: _note_exception(of.exc_type, of.exc_value, of.exc_traceback)


def is_journal(environ: Mapping[str, str] = os.environ) -> bool:
    """Tell whether standard error leads to the journal: systemd names the stream that does."""
    device, _, inode = environ.get("JOURNAL_STREAM", "").partition(":")
    try:
        status = os.fstat(2)
    except OSError:
        return False
    return (device, inode) == (str(status.st_dev), str(status.st_ino))


def note_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what went wrong in a callback of the event loop; its own words quote arguments."""
    log.error("a callback of the event loop failed", exc_info=context.get("exception"))


def _note_exception(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> None:
    name = threading.current_thread().name
    log.critical("the thread %s ended by an exception", name, exc_info=error)


def _note_unraisable(of: "sys.UnraisableHookArgs") -> None:
    log.error("an exception could not be raised, as in a destructor", exc_info=of.exc_value)


def _field(item: tuple[str, Any]) -> str:
    name, value = item
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return f"{name}={text}" if _PLAIN.fullmatch(text) else f"{name}={json.dumps(text)}"
