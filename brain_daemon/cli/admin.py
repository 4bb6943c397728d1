"""Commands about the daemon and its store: ``ping`` to ``reindex``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brain_daemon.cli import exits
from brain_daemon.cli.command import (
    LONG_TIMEOUT_S,
    TIMEOUT_S,
    command,
    daemon,
    json_option,
    socket_path,
)
from brain_daemon.cli.output import duration, plain, print_json, safe, size
from brain_daemon.errors import BrainError, Forbidden

if TYPE_CHECKING:
    from brain_daemon.client import Client

FOR_OPERATORS = {"status": "answering; more is for operators"}


@command(example="brain ping")
@json_option
def ping_command(as_json: bool) -> None:
    """Ask whether the daemon answers, and how fast."""
    with daemon() as client:
        client.call("ping")
        started = time.perf_counter()
        answer = client.call("ping")
        took_us = round((time.perf_counter() - started) * 1e6)
    if as_json:
        print_json({"answer": answer, "took_us": took_us})
    else:
        click.echo(f"{plain(answer)} ({took_us / 1000:.2f} ms)")


@command(example="brain hello --json")
@json_option
def hello_command(as_json: bool) -> None:
    """Show the daemon's versions, limits and capabilities."""
    _show("hello", as_json)


@command(example="brain stats")
@json_option
def stats_command(as_json: bool) -> None:
    """Count what is stored, and what it takes on disk and in memory."""
    _show("stats", as_json)


@command(example="brain whoami")
@json_option
def whoami_command(as_json: bool) -> None:
    """Show who the daemon takes you for, and what you may do."""
    _show("whoami", as_json)


@command(example="brain health --deep")
@click.option("--deep", is_flag=True, help="Check every page of the store and every index.")
@json_option
@click.pass_context
def health_command(ctx: click.Context, deep: bool, as_json: bool) -> None:
    """Ask whether all is well.

    Exit code 1 when it is not.
    """
    given = {"deep": True} if deep else {}
    answer = _show("health", as_json, LONG_TIMEOUT_S if deep else TIMEOUT_S, **given)
    if answer.get("status") != "ok":
        ctx.exit(exits.NEGATIVE)


@command(example="brain config")
@json_option
def config_command(as_json: bool) -> None:
    """Show every setting, its value, and where that comes from."""
    with daemon() as client:
        result = client.call("config")
    if as_json:
        print_json(result)
        return
    from brain_daemon.cli.output import console, table

    rows = [
        (s.get("name"), _setting(s.get("value")), s.get("source"), s.get("help"))
        for s in result.get("settings", [])
    ]
    console().print(table(("setting", "value", "source", "meaning"), rows))


def _setting(value: Any) -> str:
    # As it is written in the file: no grouping of digits, no dash for an empty string.
    return '""' if value == "" else str(value).lower() if isinstance(value, bool) else str(value)


@command(example="brain compact")
@json_option
def compact_command(as_json: bool) -> None:
    """Give freed space back, and clear what was forgotten from the file."""
    with daemon(LONG_TIMEOUT_S) as client:
        result = client.call("compact")
    if as_json:
        print_json(result)
        return
    before, after = result.get("before_bytes", 0), result.get("after_bytes", 0)
    click.echo(f"compacted: {size(before)} → {size(after)}")


@command(example="brain reindex")
@json_option
def reindex_command(as_json: bool) -> None:
    """Derive vectors, terms and the graph anew from the stored text."""
    _show("reindex", as_json, LONG_TIMEOUT_S)


@command(example="brain backup ~/brain-backup.db")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--overwrite", is_flag=True, help="Replace a file that is there.")
@click.option("--recipient", help="Encrypt it to this public key of age (age1…).")
@json_option
def backup_command(path: Path, overwrite: bool, recipient: str | None, as_json: bool) -> None:
    """Write a verified copy of the store to PATH while the daemon goes on."""
    # The daemon's working folder is another one.
    given: dict[str, Any] = {"path": str(path.absolute())}
    if overwrite:
        given["overwrite"] = True
    if recipient:
        given["recipient"] = recipient
    _show("backup", as_json, LONG_TIMEOUT_S, **given)


@command(example="brain status")
@json_option
@click.pass_context
def status_command(ctx: click.Context, as_json: bool) -> None:
    """See at one glance how the daemon is.

    Exit code 1 when it is not well.
    """
    with daemon() as client:
        health = _allowed(client, "health", FOR_OPERATORS)
        try:
            hello, stats = client.call("hello"), _allowed(client, "stats", {})
        except BrainError:
            if health.get("status") != "degraded":
                raise
            hello, stats = {}, {}  # there is no store, and the reasons say why
    if as_json:
        print_json({"socket": str(socket_path()), "hello": hello, "stats": stats, "health": health})
    else:
        from brain_daemon.cli.output import console, pairs

        console().print(pairs(status_lines(hello, stats, health)))
    if health.get("status") not in ("ok", FOR_OPERATORS["status"]):
        ctx.exit(exits.NEGATIVE)


def _allowed(client: Client, method: str, otherwise: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        answer: Mapping[str, Any] = client.call(method)
    except Forbidden:
        return otherwise
    return answer


def status_lines(
    hello: Mapping[str, Any], stats: Mapping[str, Any], health: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Give the lines of ``brain status``; what an answer lacks is shown as –."""
    well = safe(str(health.get("status", "unknown")))
    reasons = [safe(str(reason)) for reason in health.get("reasons") or []]
    model = stats.get("model") or {}
    uptime = stats.get("uptime_s")
    wal, rss = stats.get("wal_bytes"), stats.get("rss_bytes")
    chunks, documents, entities, relations = (
        f"{plain(stats.get(name))} {one if stats.get(name) == 1 else many}"
        for name, one, many in (
            ("chunks", "chunk", "chunks"),
            ("documents", "document", "documents"),
            ("entities", "entity", "entities"),
            ("edges", "relation", "relations"),
        )
    )
    lines = [
        ("health", f"{well} ({'; '.join(reasons)})" if reasons else well),
        (
            "daemon",
            f"brain-daemon {plain(hello.get('product'))}"
            + (f", up {duration(uptime)}" if isinstance(uptime, int | float) else ""),
        ),
        ("socket", plain(str(socket_path()))),
        ("memories", f"{chunks} of {documents}"),
        ("graph", f"{entities}, {relations}"),
        ("store", plain(stats.get("store_bytes"), "store_bytes")),
        ("disk", f"{size(health['free_bytes'])} free" if health.get("free_bytes") else "–"),
        ("memory", plain(rss, "rss_bytes")),
        ("model", f"{plain(model.get('name'))}, {plain(model.get('dim'))} dimensions"),
        ("SIMD", plain(hello.get("simd_tier"))),
    ]
    if wal:
        lines[5] = ("store", f"{lines[5][1]} + {size(wal)} of log")
    return lines


def _show(
    method: str, as_json: bool, timeout_s: float = TIMEOUT_S, **params: Any
) -> Mapping[str, Any]:
    """Call a method and print its answer, whatever its keys."""
    with daemon(timeout_s) as client:
        result: Mapping[str, Any] = client.call(method, **params)
    if as_json:
        print_json(result)
    else:
        from brain_daemon.cli.output import console, flatten, pairs

        console().print(pairs(flatten(result)))
    return result
