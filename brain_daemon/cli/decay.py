"""Commands on what has expired: ``decayed`` and ``extend``."""

from __future__ import annotations

from typing import Any

import click

from brain_daemon.cli.command import command, daemon, json_option
from brain_daemon.cli.output import count, print_json, safe


@command(example="brain decayed --k 20")
@click.option("--k", type=int, help="How many.  [default: the daemon's]")
@click.option("--domain", help="Only memories of this domain.")
@json_option
def decayed_command(k: int | None, domain: str | None, as_json: bool) -> None:
    """List what has expired, to extend it, keep it or forget it."""
    given = {"k": k, "domain": domain}
    with daemon() as client:
        answer = client.call("decayed", **{n: v for n, v in given.items() if v is not None})
    if as_json:
        print_json(answer)
        return
    from brain_daemon.cli.hits import title

    for chunk in answer["chunks"]:
        click.echo(
            f"{safe(str(chunk['expires_at']))}  document {chunk['document_id']}  "
            f"id {chunk['id']}  {title(chunk)}"
        )
        click.echo(f"    {_shortened(safe(str(chunk['text'])))}")
    click.echo(f"{count(answer['n_decayed'], 'chunk')} expired")


@command(example="brain extend 12 --until 2030-01-01")
@click.argument("document_id", type=int)
@click.option("--until", help="When it expires now: ISO 8601, read as UTC without an offset.")
@click.option("--forever", is_flag=True, help="Never.")
@json_option
def extend_command(document_id: int, until: str | None, forever: bool, as_json: bool) -> None:
    """Let a document expire later, or never."""
    if (until is None) != forever:
        raise click.UsageError("Give either --until or --forever.")
    with daemon() as client:
        result: dict[str, Any] = client.call(
            "decay.extend", document_id=document_id, expires_at=until
        )
    if as_json:
        print_json(result)
    else:
        when = "never" if result["expires_at"] is None else f"at {safe(result['expires_at'])}"
        click.echo(f"document {result['document_id']} expires {when}")


def _shortened(text: str, n_chars: int = 120) -> str:
    return text if len(text) <= n_chars else f"{text[: n_chars - 1]}…"
