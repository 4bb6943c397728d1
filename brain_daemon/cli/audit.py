"""The command on the audit log: ``audit verify``, ``audit tail`` and ``audit show``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from brain_daemon.cli import exits
from brain_daemon.cli.command import LONG_TIMEOUT_S, command, daemon, json_option
from brain_daemon.cli.output import count, print_json, safe

ACTIONS = ("verify", "tail", "show")
_SHOWN_APART = ("seq", "at", "event", "prev", "hash")


@command(example="brain audit verify")
@click.argument("action", type=click.Choice(ACTIONS), metavar="ACTION")
@click.option("--head", help="verify: a head noted earlier, number:hash; it must still be there.")
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    help="verify: this file and the older ones beside it, without a daemon.",
)
@click.option("--after", type=int, help="show: only records after this number.  [default: 0]")
@click.option("--limit", type=int, help="tail, show: how many.  [default: the daemon's]")
@json_option
@click.pass_context
def audit_command(
    ctx: click.Context,
    action: str,
    head: str | None,
    file: Path | None,
    after: int | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Check the audit log, or read it.

    ACTION is verify, tail (the newest) or show (from the oldest on).

    Exit code 1 when verify finds a fault.
    """
    if action == "verify":
        if after is not None or limit is not None:
            raise click.UsageError("verify takes --head and --file, and nothing else.")
        verdict = _verify(file, head)
        if as_json:
            print_json(verdict)
        else:
            _print_verdict(verdict)
        if not verdict["ok"]:
            ctx.exit(exits.NEGATIVE)
        return
    if head is not None or file is not None or (action == "tail" and after is not None):
        raise click.UsageError(f"{action} takes --limit{' and --after' * (action == 'show')}.")
    given = {"after": (after or 0) if action == "show" else None, "limit": limit}
    with daemon(LONG_TIMEOUT_S) as client:
        page = client.call("audit.list", **{n: v for n, v in given.items() if v is not None})
    if as_json:
        print_json(page)
        return
    for record in page["records"]:
        rest = {name: value for name, value in record.items() if name not in _SHOWN_APART}
        told = "  ".join(f"{name}={safe(str(value))}" for name, value in rest.items())
        click.echo(f"{record['seq']}  {safe(record['at'])}  {safe(record['event'])}  {told}")
    if page["next"] is not None:
        click.echo(f"more: brain audit show --after {page['next']}")


def _verify(file: Path | None, head: str | None) -> dict[str, Any]:
    if file is None:
        with daemon(LONG_TIMEOUT_S) as client:
            answer: dict[str, Any] = client.call("audit.verify", **({"head": head} if head else {}))
        return answer
    from brain_daemon.audit.log import read_head, verify_file

    verdict = verify_file(file, read_head(head) if head else None)
    return {
        "ok": not verdict.findings,
        "records": verdict.records,
        "head": str(verdict.head),
        "findings": verdict.findings,
        "path": str(file),
    }


def _print_verdict(verdict: dict[str, Any]) -> None:
    for finding in verdict["findings"]:
        click.echo(safe(finding))
    state = "whole" if verdict["ok"] else "not whole"
    click.echo(f"{safe(verdict['path'])} is {state}: {count(verdict['records'], 'record')}")
    click.echo(f"head {safe(verdict['head'])}")
