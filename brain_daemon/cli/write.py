"""Commands that store or remove one thing: ``remember`` and ``forget``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click

from brain_daemon.cli.command import command, daemon, fail_on_file, json_option
from brain_daemon.cli.output import count, plain, print_json, safe

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class RelationType(click.ParamType):
    """``subject|relation|object``, none of them empty."""

    name = "subject|relation|object"

    def convert(self, value: Any, param: Any, ctx: Any) -> dict[str, str]:
        parts = [part.strip() for part in str(value).split("|")]
        if len(parts) != 3 or not all(parts):
            self.fail(f"{value!r} is not subject|relation|object, such as 'Ana|lives_in|Lisbon'")
        return dict(zip(("subject", "relation", "object"), parts, strict=True))


@command(example='brain remember "Ana moved to Lisbon." --relation "Ana|lives_in|Lisbon"')
@click.argument("text")
@click.option("--title", help="What it is about; counts more than the text in recall.")
@click.option("--uri", help="A name of your own; storing it again makes a new revision.")
@click.option("--domain", help="The domain it belongs to.  [default: default]")
@click.option("--access-scope", help="Who may see it.  [default: private]")
@click.option("--node-kind", help="What kind of memory it is, in your own words.")
@click.option("--lawful-basis", help="Why it may be kept, such as consent.")
@click.option("--region", help="Where it belongs, such as eu.")
@click.option("--pii", is_flag=True, help="It holds personal data.")
@click.option("--created-at", help="When it was true: ISO 8601.  [default: now]")
@click.option("--expires-at", help="When it stops being true: ISO 8601.")
@click.option("--thread", help="The conversation it belongs to.")
@click.option("--seq", type=int, help="Its place in the thread.")
@click.option("--entity", "entities", multiple=True, help="Something it names; repeatable.")
@click.option(
    "--relation", "relations", multiple=True, type=RelationType(), help="A fact; repeatable."
)
@json_option
def remember_command(text: str, as_json: bool, **tags: Any) -> None:
    """Store one memory; TEXT is - to read it from standard input."""
    if text == "-":
        text = _standard_input()
    if not text.strip():
        raise click.UsageError("There is nothing to remember: the text is empty.")
    given = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in tags.items()
        if value is not None and value is not False and value != ()
    }
    with daemon() as client:
        result = client.call("remember", text=text, near_duplicates=True, **given)
    if as_json:
        print_json(result)
    else:
        click.echo(stored(result))


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fail_on_file("standard input", ValueError(f"not UTF-8 text (byte {error.start})"))


def stored(result: dict[str, Any]) -> str:
    """Say in a sentence what became of a memory."""
    name = f"document {plain(result.get('id'), 'id')}"
    if result.get("uri"):
        name += f" ({safe(str(result['uri']))})"
    if result.get("echo_of"):
        return f"already known, not stored again: chunk {result['echo_of']} of {name}"
    if result.get("unchanged"):
        return f"already known, unchanged: {name}"
    ids = result.get("chunk_ids") or []
    verb = "remembered" if result.get("created", True) else "remembered anew"
    parts = [f"{verb}: {name}", count(len(ids), "chunk")]
    if ids:
        parts[-1] += f" (id {ids[0]})" if len(ids) == 1 else f" (ids {ids[0]}–{ids[-1]})"
    if (result.get("revision") or 1) > 1:
        parts.append(f"revision {result['revision']}")
    parts += [count(result[f"{n}s"], n) for n in ("mention", "link") if result.get(f"{n}s")]
    if near := result.get("near_duplicates"):
        parts.append(f"much like chunk {', '.join(str(record['id']) for record in near)}")
    if result.get("flagged"):
        parts.append("flagged for review")
    return " · ".join(parts)


@command(example="brain forget 17")
@click.argument("target")
@click.option("--document", is_flag=True, help="TARGET is the id of a document, not of a chunk.")
@json_option
def forget_command(target: str, document: bool, as_json: bool) -> None:
    """Remove a chunk or a document, for good.

    TARGET is the id of a chunk (recall prints it), or the URI or the path of a document, or with
    --document the id of one. It leaves recall at once; `brain compact` also clears it from the
    file.
    """
    what = forget_target(target, document=document)
    with daemon() as client:
        result = client.call("forget", **what)
    if as_json:
        print_json(result)
        return
    chunks, documents = result.get("chunk_ids") or [], result.get("document_ids") or []
    click.echo(f"forgotten: {count(len(chunks), 'chunk')} of {count(len(documents), 'document')}")


def forget_target(target: str, *, document: bool) -> dict[str, Any]:
    """Read what to forget: a number is an id; a word with a scheme a URI; all else a path."""
    if target.isascii() and target.isdigit():
        return {"document_id" if document else "id": int(target)}
    if document:
        raise click.UsageError(f"--document takes a number, not {target!r}.")
    if _SCHEME.match(target):
        return {"uri": target}
    return {"uri": Path(target).resolve().as_uri()}
