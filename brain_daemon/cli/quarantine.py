"""The command on what is held back: ``quarantine list``, ``release`` and ``delete``."""

from __future__ import annotations

from typing import Any

import click

from brain_daemon.cli.command import command, daemon, json_option
from brain_daemon.cli.output import count, print_json, safe

ACTIONS = ("list", "release", "delete")


@command(example="brain quarantine list")
@click.argument("action", type=click.Choice(ACTIONS), metavar="ACTION")
@click.argument("chunk_ids", metavar="IDS", type=int, nargs=-1)
@click.option("--after", type=int, help="List only ids above this one.")
@click.option("--limit", type=int, help="How many to list.  [default: the daemon's]")
@json_option
def quarantine_command(
    action: str,
    chunk_ids: tuple[int, ...],
    after: int | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """List what is held back, release it or delete it.

    ACTION is list, release or delete; IDS are those that list prints.
    """
    paging = {n: v for n, v in (("after", after), ("limit", limit)) if v is not None}
    if action == "list" and chunk_ids:
        raise click.UsageError("list takes no ids.")
    if action != "list" and (paging or not chunk_ids):
        raise click.UsageError(f"{action} takes ids, and nothing else.")
    with daemon() as client:
        if action == "list":
            answer = client.call("quarantine.list", **paging)
            results = []
        else:
            answer = {}
            results = [client.call(f"quarantine.{action}", id=chunk_id) for chunk_id in chunk_ids]
    if as_json:
        print_json(answer if action == "list" else results)
    elif action == "list":
        _print_page(answer)
    else:
        click.echo(f"{action}d: {count(len(results), 'chunk')}")


def _print_page(page: dict[str, Any]) -> None:
    from brain_daemon.cli.hits import title

    for chunk in page["chunks"]:
        name = f"  {title(chunk)}" if chunk.get("uri") else ""
        click.echo(
            f"id {chunk['id']}  document {chunk['document_id']}  {safe(chunk['owner'])}  "
            f"{safe(chunk['created_at'])}  ({safe(str(chunk['reason']))}){name}"
        )
        if chunk["text"] is not None:
            click.echo(f"    {_shortened(safe(chunk['text']))}")
    click.echo(f"{count(page['n_quarantined'], 'chunk')} in quarantine")
    if page["next"] is not None:
        click.echo(f"more: brain quarantine list --after {page['next']}")


def _shortened(text: str, n_chars: int = 240) -> str:
    return text if len(text) <= n_chars else f"{text[: n_chars - 1]}…"
