"""Commands on the entity graph: ``graph``, ``link`` and ``unlink``."""

from __future__ import annotations

from typing import Any

import click

from brain_daemon.cli.command import command, daemon, json_option
from brain_daemon.cli.output import count, plain, print_json, safe
from brain_daemon.cli.write import stored


@command(example='brain graph "Ana" --depth 2')
@click.argument("name")
@click.option("--depth", type=int, help="Walk so many relations far, 1 to 4.")
@click.option("--relation", help="Only relations of this name.")
@click.option("--kind", help="Of a walk, show only entities of this kind.")
@click.option("--domain", help="Only what memories of this domain state.")
@json_option
def graph_command(
    name: str,
    depth: int | None,
    relation: str | None,
    kind: str | None,
    domain: str | None,
    as_json: bool,
) -> None:
    """Show what is stated about an entity, or with --depth what it leads to."""
    if kind is not None and depth is None:
        raise click.UsageError("--kind belongs to a walk: give --depth too.")
    given = {"name": name, "relation": relation, "kind": kind, "depth": depth, "domain": domain}
    method = "graph.relations" if depth is None else "graph.traverse"
    with daemon() as client:
        answer = client.call(method, **{n: v for n, v in given.items() if v is not None})
    if as_json:
        print_json(answer)
        return
    entity = answer["entity"]
    click.echo(f"{safe(entity['name'])} ({safe(entity['kind'])})")
    if depth is None:
        for stated in answer["relations"]:
            click.echo(f"  {_sentence(stated)}  [{_evidence(stated)}]")
        click.echo(count(answer["n_relations"], "relation"))
        return
    for reached in answer["reached"]:
        click.echo(f"  {'  ' * (reached['depth'] - 1)}{safe(reached['name'])}")
        for hop in reached["hops"]:
            click.echo(f"  {'  ' * reached['depth']}{_sentence(hop)}  [{_evidence(hop)}]")
    visited = answer["visited"]
    click.echo(f"{visited} entities visited{', and there are more' * answer['truncated']}")


@command(example="brain link Ana works_at Initech")
@click.argument("subject")
@click.argument("relation")
@click.argument("object_", metavar="OBJECT")
@click.option("--domain", help="The domain it belongs to.  [default: default]")
@click.option("--access-scope", help="Who may see it.  [default: private]")
@click.option("--expires-at", help="When it stops being true: ISO 8601.")
@json_option
def link_command(subject: str, relation: str, object_: str, as_json: bool, **tags: Any) -> None:
    """State a relation between two entities; it is stored as a small memory."""
    given = {name: value for name, value in tags.items() if value is not None}
    with daemon() as client:
        result = client.call("link", subject=subject, relation=relation, object=object_, **given)
    if as_json:
        print_json(result)
    else:
        click.echo(stored(result))


@command(example="brain unlink Ana works_at Initech")
@click.argument("subject")
@click.argument("relation")
@click.argument("object_", metavar="OBJECT")
@click.option("--domain", help="The domain it belongs to.  [default: default]")
@json_option
def unlink_command(
    subject: str, relation: str, object_: str, domain: str | None, as_json: bool
) -> None:
    """Take back a relation that you stated with `brain link`."""
    given = {} if domain is None else {"domain": domain}
    with daemon() as client:
        result = client.call("unlink", subject=subject, relation=relation, object=object_, **given)
    if as_json:
        print_json(result)
    else:
        click.echo(f"unlinked: {plain(result['document_ids'])}")


def _sentence(stated: dict[str, Any]) -> str:
    return " — ".join(safe(stated[part]) for part in ("subject", "relation", "object"))


def _evidence(stated: dict[str, Any]) -> str:
    ids = ", ".join(str(id_) for id_ in stated["chunk_ids"])
    more = stated["n_chunks"] - len(stated["chunk_ids"])
    return f"chunk {ids}" + (f" and {more} more" if more else "")
