"""Commands that carry a whole store: ``export`` and ``import``, as JSON Lines, page by page."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from brain_daemon.cli import exits
from brain_daemon.cli.command import (
    LONG_TIMEOUT_S,
    check_replaceable,
    command,
    daemon,
    fail_on_file,
    json_option,
)
from brain_daemon.cli.output import count, json_text, plain, print_json, safe, size
from brain_daemon.errors import BadRequest, TooLarge

PAGE_RECORDS = 500
# A page stays well below the daemon's smallest sensible message.
PAGE_BYTES = 1 << 20


@command(example="brain export --output memories.ndjson")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A file to make.")
@json_option
def export_command(output: Path | None, as_json: bool) -> None:
    """Write every memory as JSON Lines.

    To standard output, unless --output names a file.
    """
    if as_json and output is None:
        raise click.UsageError("Without --output the export itself is what is printed: no --json.")
    n_records = 0
    with daemon(LONG_TIMEOUT_S) as client, _sink(output) as sink:
        cursor: dict[str, Any] = {}
        while True:
            page = client.call("export", limit=PAGE_RECORDS, **cursor)
            for record in page["records"]:
                sink.write(json_text(record).encode() + b"\n")
            n_records += len(page["records"])
            if page.get("next") is None:
                break
            cursor = {"after": page["next"]}
    if output is None:
        return
    n_bytes = output.stat().st_size
    if as_json:
        print_json({"path": str(output), "records": n_records, "bytes": n_bytes})
    else:
        click.echo(f"exported {count(n_records, 'record')}, {size(n_bytes)}: {safe(str(output))}")


@contextmanager
def _sink(output: Path | None) -> Iterator[IO[bytes]]:
    """Open standard output, or a file that appears under its name only when it is whole."""
    if output is None:
        yield sys.stdout.buffer
        return
    check_replaceable(output)
    try:
        # NamedTemporaryFile is 0600, which suits what it holds.
        with tempfile.NamedTemporaryFile(dir=output.parent, delete=False) as file:
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(output)
            except BaseException:
                Path(file.name).unlink()
                raise
    except OSError as error:
        fail_on_file(output, error)


@command(example="brain import memories.ndjson")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@json_option
def import_command(file: str, as_json: bool) -> None:
    """Store the records of an export; FILE is - for standard input.

    A record that is already there changes nothing, so an import that broke off can be repeated.
    """
    counts: Counter[str] = Counter()
    with daemon(LONG_TIMEOUT_S) as client, click.open_file(file, "rb") as stream:
        for line, records in _pages(stream, file):
            try:
                result = client.call("import", records=records)
            except (BadRequest, TooLarge) as error:
                message = f"{file}, in the records from line {line} on: {error.message}"
                raise exits.Failure(message, exits.exit_code(error)) from error
            counts["records"] += len(records)
            for name, value in result.items():
                if isinstance(value, int) and not isinstance(value, bool):
                    counts[name] += value
    if as_json:
        print_json(dict(counts))
    else:
        click.echo("imported " + ", ".join(f"{n:,} {plain(name)}" for name, n in counts.items()))


def _pages(stream: IO[bytes], name: str) -> Iterator[tuple[int, list[Any]]]:
    """Read JSON Lines into pages bounded in records and bytes, each with its first line's number.

    Blank lines are skipped.
    """
    page: list[Any] = []
    first = n_bytes = 0
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        if page and (len(page) >= PAGE_RECORDS or n_bytes + len(line) > PAGE_BYTES):
            yield first, page
            page, n_bytes = [], 0
        if not page:
            first = number
        try:
            page.append(json.loads(line))
        except ValueError as error:
            raise exits.Failure(
                f"{name}: line {number} is not JSON ({error}); the lines before its page were "
                "imported, mend it and repeat the import",
                exits.LOCAL_FILE,
            ) from error
        n_bytes += len(line)
    if page:
        yield first, page
