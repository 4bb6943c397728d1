"""``brain metrics``: every figure of the daemon, for Prometheus; and reading what it says."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import click

from brain_daemon.cli.command import (
    check_replaceable,
    command,
    daemon,
    fail_on_file,
    json_option,
)
from brain_daemon.cli.output import print_json

_SAMPLE = re.compile(r'(\w+)(?:\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)')
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


class Sample(NamedTuple):
    """One line of the exposition."""

    name: str
    labels: dict[str, str]
    value: float


@command(example="brain metrics --textfile brain.prom")
@click.option(
    "--textfile",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write them to this file instead, whole or not at all.",
)
@json_option
def metrics_command(textfile: Path | None, as_json: bool) -> None:
    """Print every figure of the daemon in Prometheus' text format."""
    with daemon() as client:
        text: str = client.call("metrics")["text"]
    if textfile is not None:
        _replace(textfile, text)
    elif as_json:
        print_json([sample._asdict() for sample in parse(text)])
    else:
        click.echo(text, nl=False)


def parse(text: str) -> Iterator[Sample]:
    """Read the samples of an exposition."""
    for line in text.splitlines():
        found = None if line.startswith("#") else _SAMPLE.fullmatch(line)
        if found is not None:
            labels = {name: _unescape(value) for name, value in _LABEL.findall(found[2] or "")}
            yield Sample(found[1], labels, float(found[3]))


def _unescape(value: str) -> str:
    return _ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], value)


def _replace(path: Path, text: str) -> None:
    """Write a file in one step, so that nobody reads half of it; readable to all."""
    check_replaceable(path)
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                os.fchmod(file.fileno(), 0o644)
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        fail_on_file(path, error)
