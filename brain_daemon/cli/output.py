"""What every command prints: safe text, one JSON document, tables.

Memory text is hostile until shown otherwise: it passes `safe` before a terminal sees it, and it
is never read as markup. rich is imported only by the functions that draw.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# Controls (C0, DEL, C1), line and paragraph separators, bidirectional overrides and isolates,
# surrogates, and the invisible tag characters: each can move the cursor, hide or reorder text.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
_WHITESPACE = re.compile(r"[ \t\r\n\f\v\u2028\u2029]+")
_PIPED_WIDTH = 10_000


def safe(text: str) -> str:
    r"""Fold white space to single spaces and escape what a terminal could obey (``\x1b``)."""
    return _UNSAFE.sub(_visible, _WHITESPACE.sub(" ", text))


def safe_lines(text: str) -> str:
    """Escape as `safe` does, but keep line ends and tabs."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(map(_escape, line.split("\t"))) for line in lines)


def _escape(text: str) -> str:
    return _UNSAFE.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    point = ord(match[0])
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def _json_escape(match: re.Match[str]) -> str:
    # json.dumps leaves raw what is legal in JSON, C1 controls among it; \n stays as layout.
    if match[0] == "\n":
        return "\n"
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"


def json_text(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """Encode as JSON that is readable UTF-8 and still safe on a terminal; bytes become hex."""
    text = json.dumps(
        value,
        ensure_ascii=ascii_only,
        indent=indent,
        separators=(",", ":") if indent is None else None,
        default=_json_default,
    )
    return _UNSAFE.sub(_json_escape, text)


def _json_default(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def print_json(value: Any) -> None:
    """Print one JSON document on standard output, whatever that can encode."""
    text = json_text(value, indent=2)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json_text(value, indent=2, ascii_only=True)
    click.echo(text)


def console() -> Console:
    """Give a console on standard output: no markup, no guessing, no wrapping when piped."""
    from rich.console import Console

    piped = None if sys.stdout.isatty() else _PIPED_WIDTH
    return Console(markup=False, emoji=False, highlight=False, width=piped)


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> RenderableType:
    """Draw rows under headings; numbers to the right, every cell made safe."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    filled = [list(row) for row in rows]
    for column, heading in enumerate(headings):
        numeric = bool(filled) and all(
            isinstance(row[column], int | float) and not isinstance(row[column], bool)
            for row in filled
        )
        drawn.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in filled:
        drawn.add_row(*(cell if isinstance(cell, Text) else Text(plain(cell)) for cell in row))
    return drawn


def pairs(items: Iterable[tuple[str, Any]]) -> RenderableType:
    """Draw names and values in two columns."""
    from rich.table import Table
    from rich.text import Text

    drawn = Table.grid(padding=(0, 2))
    drawn.add_column(style="dim")
    drawn.add_column(overflow="fold")
    for name, value in items:
        drawn.add_row(
            Text(safe(name)), value if isinstance(value, Text) else Text(plain(value, name))
        )
    return drawn


def flatten(value: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """List a nested map as dotted names and leaves, in the order given; unknown keys and all."""
    rows: list[tuple[str, Any]] = []
    for key, item in value.items():
        name = f"{prefix}{key}"
        if isinstance(item, Mapping) and item:
            rows += flatten(item, f"{name}.")
        else:
            rows.append((name, item))
    return rows


def plain(value: Any, name: str = "") -> str:
    """Show one value to a person; the unit suffix of its name says how to write a number."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(value, name)
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return ", ".join(f"{safe(str(key))}: {plain(item)}" for key, item in value.items()) or "–"
    if isinstance(value, Sequence):
        return ", ".join(plain(item) for item in value) or "–"
    return safe(str(value))


def _number(value: float, name: str) -> str:
    if name.endswith("_bytes") or name == "bytes":
        return size(value)
    if name.endswith("_s"):
        return duration(value)
    if name.endswith("_us"):
        return f"{value / 1000:.1f} ms"
    if isinstance(value, int):
        # Grouping helps counts; an id or a pid is a name.
        return str(value) if name.rpartition(".")[2] in _NAMES else f"{value:,}"
    return f"{value:.4g}"


_NAMES = frozenset({"id", "document_id", "pid", "uid", "gid", "generation", "protocol", "schema"})


def count(n: int, noun: str) -> str:
    """Write a number and its noun, which takes an s unless there is one."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def size(n_bytes: float) -> str:
    """Write a number of bytes in the binary unit that keeps it short."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(n_bytes) < 1024:
            return f"{n_bytes:.0f} B" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TiB"


def duration(seconds: float) -> str:
    """Write seconds as the two largest units that matter."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, hours, days = int(seconds // 60), int(seconds // 3600), int(seconds // 86400)
    if minutes < 60:
        return f"{minutes} min {int(seconds % 60)} s"
    if hours < 24:
        return f"{hours} h {minutes % 60} min"
    return f"{days} d {hours % 24} h"
