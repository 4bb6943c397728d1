"""The command on the policy: ``policy check``, which needs no daemon, and ``policy reload``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brain_daemon import paths
from brain_daemon.cli import exits
from brain_daemon.cli.command import command, daemon, json_option
from brain_daemon.cli.output import count, print_json, safe
from brain_daemon.errors import BrainError

if TYPE_CHECKING:
    from brain_daemon.model import PeerCredentials
    from brain_daemon.policy.rules import Policy, Rule


@command(example="brain policy check policy.toml --as alice")
@click.argument("action", type=click.Choice(("check", "reload")), metavar="ACTION")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--as", "user", metavar="USER", help="Show what it makes of this user, name or uid.")
@json_option
@click.pass_context
def policy_command(
    ctx: click.Context, action: str, file: Path | None, user: str | None, as_json: bool
) -> None:
    """Check a policy file, or have the daemon read its own again.

    ACTION is check or reload; a check without FILE is of the one in the usual place.

    Exit code 1 when the file is refused, or the user is.
    """
    if action == "reload":
        if file is not None or user is not None:
            raise click.UsageError("reload takes neither a file nor a user.")
        _reload(as_json)
        return
    found = _examine((file or paths.default_policy_path()).absolute(), user)
    if as_json:
        print_json(found)
    else:
        _print(found)
    if not found["ok"] or (user is not None and found["as"]["principal"] is None):
        ctx.exit(exits.NEGATIVE)


def _reload(as_json: bool) -> None:
    with daemon() as client:
        result = client.call("policy.reload")
    if as_json:
        print_json(result)
    else:
        where = safe(result["source"]) or "no policy file, so the daemon's own user only"
        click.echo(f"reloaded: {count(result['rules'], 'rule')} of {where}")


def _examine(path: Path, user: str | None) -> dict[str, Any]:
    from brain_daemon.policy.file import load

    found: dict[str, Any] = {"ok": True, "path": str(path), "error": None, "rules": [], "as": None}
    peer = _peer(user) if user is not None else None
    try:
        policy = load(path)
    except BrainError as error:
        return found | {"ok": False, "error": error.message}
    found["rules"] = [_record(rule) for rule in policy.rules]
    if peer is not None:
        found["as"] = {"user": user, "uid": peer.uid, **_judged(policy, peer)}
    return found


def _record(rule: Rule) -> dict[str, Any]:
    return {
        "rule": rule.number,
        "selector": rule.selector,
        "ids": [rule.low, rule.high],
        "roles": sorted(rule.roles),
        "principal": rule.principal,
        "domains": list(rule.domains),
        "scopes": list(rule.scopes),
    }


def _peer(user: str) -> PeerCredentials:
    import os
    import pwd

    from brain_daemon.model import PeerCredentials

    try:
        entry = pwd.getpwuid(int(user)) if user.isdecimal() else pwd.getpwnam(user)
    except (KeyError, OverflowError):
        if not user.isdecimal():
            raise click.UsageError(f"There is no user {user!r} on this machine.") from None
        return PeerCredentials(0, int(user), -1, ())  # one without an entry is in no group
    groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
    return PeerCredentials(0, entry.pw_uid, entry.pw_gid, tuple(groups))


def _judged(policy: Policy, peer: PeerCredentials) -> dict[str, Any]:
    match = policy.find(peer)
    tried = policy.rules if match is None else policy.rules[: match.number]
    judged: dict[str, Any] = {
        "groups": sorted({peer.gid, *peer.groups} - {-1}),
        "tried": [{"rule": r.number, "selector": r.selector, "fits": r is match} for r in tried],
        "principal": None,
        "refusal": None,
    }
    try:
        principal = policy.admit(peer)
    except BrainError as error:
        return judged | {"refusal": error.message}
    return judged | {
        "principal": {
            "name": principal.name,
            "roles": sorted(principal.roles),
            "domains": list(principal.domains),
            "scopes": list(principal.scopes),
            "rule": principal.rule,
        }
    }


def _print(found: dict[str, Any]) -> None:
    if not found["ok"]:
        click.echo(safe(found["error"]))
        return
    click.echo(f"{safe(found['path'])}: {count(len(found['rules']), 'rule')}, all in order")
    judged = found["as"]
    if judged is None:
        return
    groups = ", ".join(map(str, judged["groups"])) or "none"
    click.echo(f"{safe(judged['user'])}: uid {judged['uid']}, groups {groups}")
    for tried in judged["tried"]:
        verdict = "fits, and decides" if tried["fits"] else "does not fit"
        click.echo(f"  rule {tried['rule']} ({safe(tried['selector'])}) {verdict}")
    principal = judged["principal"]
    if principal is None:
        click.echo(f"refused: {safe(judged['refusal'])}")
        return
    click.echo(f"let in as {safe(principal['name'])}")
    for name in ("roles", "domains", "scopes"):
        click.echo(f"  {name:<8} {safe(', '.join(principal[name])) or '–'}")
