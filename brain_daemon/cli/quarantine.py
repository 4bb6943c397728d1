"""The command on what is held back: ``quarantine list``, ``release``, ``delete``, and around it."""

from __future__ import annotations

from typing import Any

import click

from brain_daemon.cli.command import command, daemon, json_option
from brain_daemon.cli.output import count, print_json, safe

ACTIONS = ("list", "release", "delete", "history", "screen")
DECISIONS = ("release", "delete")


@command(example="brain quarantine list")
@click.argument("action", type=click.Choice(ACTIONS), metavar="ACTION")
@click.argument("chunk_ids", metavar="IDS", type=int, nargs=-1)
@click.option("--after", type=int, help="List only ids above this one.")
@click.option("--limit", type=int, help="How many to list.  [default: the daemon's]")
@click.option("--dry-run", is_flag=True, help="screen: only tell what would be held back.")
@json_option
def quarantine_command(
    action: str,
    chunk_ids: tuple[int, ...],
    after: int | None,
    limit: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """List what is held back, release it or delete it, and more.

    ACTION is list, release or delete, with IDS that list prints; history, which tells who decided
    what; or screen, which looks through what is stored already.
    """
    paging = {n: v for n, v in (("after", after), ("limit", limit)) if v is not None}
    if action in DECISIONS and (paging or not chunk_ids):
        raise click.UsageError(f"{action} takes ids, and nothing else.")
    if action not in DECISIONS and chunk_ids:
        raise click.UsageError(f"{action} takes no ids.")
    if dry_run and action != "screen":
        raise click.UsageError("--dry-run is for screen.")
    if action == "screen" and paging:
        raise click.UsageError("screen goes through everything: give no --after or --limit.")
    with daemon() as client:
        if action in DECISIONS:
            decided = [client.call(f"quarantine.{action}", id=chunk_id) for chunk_id in chunk_ids]
            answer: dict[str, Any] = {"decided": decided}
        elif action == "screen":
            answer = _screen(client, dry_run)
        else:
            answer = client.call(f"quarantine.{action}", **paging)
    if as_json:
        print_json(answer.get("decided", answer))
    elif action == "list":
        _print_page(answer)
    elif action == "history":
        _print_history(answer)
    elif action == "screen":
        for chunk in answer["chunks"]:
            click.echo(f"id {chunk['id']}  document {chunk['document_id']}  ({chunk['reason']})")
        verb = "would be held back" if dry_run else "held back"
        click.echo(f"{count(answer['screened'], 'chunk')} screened, {len(answer['chunks'])} {verb}")
    else:
        click.echo(f"{action}d: {count(len(answer['decided']), 'chunk')}")


def _screen(client: Any, dry_run: bool) -> dict[str, Any]:
    """Go through all pages."""
    screened = after = 0
    found: list[dict[str, Any]] = []
    while after is not None:
        page = client.call("quarantine.screen", after=after, dry_run=dry_run)
        screened += page["screened"]
        found += page["chunks"]
        after = page["next"]
    return {"screened": screened, "chunks": found}


def _print_history(page: dict[str, Any]) -> None:
    for event in page["events"]:
        click.echo(
            f"{safe(event['at'])}  {event['action']}  chunk {event['chunk_id']}  "
            f"document {event['document_id']}  ({safe(event['reason'])})  "
            f"by {safe(event['by']['name'])} (uid {event['by']['uid']})"
        )
    click.echo(count(len(page["events"]), "decision"))
    if page["next"] is not None:
        click.echo(f"more: brain quarantine history --after {page['next']}")


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
