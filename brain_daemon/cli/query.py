"""Commands that read memories: ``recall``, ``trace``, ``get`` and ``verify``."""

from __future__ import annotations

from typing import Any

import click

from brain_daemon.cli import exits
from brain_daemon.cli.command import command, daemon, json_option
from brain_daemon.cli.output import plain, print_json, safe_lines

SOURCES = ("memory", "markdown", "structured", "manual", "vault")
RELEVANCE = ("low", "medium", "high")


@command(
    # A search for --some-flag is a search; a misspelt option is then one argument too many.
    context_settings={"ignore_unknown_options": True},
    example='brain recall "When did Ana move to Lisbon?" --k 5 --explain',
)
@click.argument("query")
@click.option("--k", type=int, help="How many hits.  [default: the daemon's]")
@click.option("--explain", is_flag=True, help="Show the legs side by side, how hits rose or fell.")
@click.option("--term", "terms", multiple=True, help="A word that ranks too; repeatable.")
@click.option("--phrase", "phrases", multiple=True, help="It must hold this; repeatable.")
@click.option("--exclude", multiple=True, help="It may not hold this; repeatable.")
@click.option("--code", multiple=True, help="It must hold this to the letter; repeatable.")
@click.option("--domain", help="Only memories of this domain.")
@click.option(
    "--source", "sources", multiple=True, type=click.Choice(SOURCES), help="Only this; repeatable."
)
@click.option("--since", help="Only from this moment on: ISO 8601, read as UTC without an offset.")
@click.option("--until", help="Only before this moment.")
@click.option("--no-graph", is_flag=True, help="Leave the graph leg out.")
@click.option("--no-expand", is_flag=True, help="Leave the second lexical pass out.")
@click.option("--no-abstain", is_flag=True, help="Show the hits however doubtful they are.")
@click.option("--min-relevance", type=click.Choice(RELEVANCE), help="Only hits of this or above.")
@click.option("--include-decayed", is_flag=True, help="Also memories that have expired.")
@click.option("--trace", is_flag=True, help="Keep how the answer came about, for `brain trace`.")
@click.option("--render", is_flag=True, help="Print one fenced block of text for a prompt.")
@click.option("--max-context-tokens", type=int, help="Bound of that block.  [default: none]")
@json_option
@click.pass_context
def recall_command(
    ctx: click.Context,
    query: str,
    k: int | None,
    explain: bool,
    terms: tuple[str, ...],
    phrases: tuple[str, ...],
    exclude: tuple[str, ...],
    code: tuple[str, ...],
    domain: str | None,
    sources: tuple[str, ...],
    since: str | None,
    until: str | None,
    no_graph: bool,
    no_expand: bool,
    no_abstain: bool,
    min_relevance: str | None,
    include_decayed: bool,
    trace: bool,
    render: bool,
    max_context_tokens: int | None,
    as_json: bool,
) -> None:
    """Find the memories that answer a question, with the reasons for each.

    In the query, "a phrase", -word, -"a phrase" and `code` decide exactly; all else is plain text.
    Exit code 1 when nothing was found.
    """
    lex = {"terms": terms, "phrases": phrases, "exclude": exclude, "code": code}
    given: dict[str, Any] = {
        "q": query,
        "k": k,
        "lex": {name: list(words) for name, words in lex.items() if words} or None,
        "domain": domain,
        "sources": list(sources) or None,
        "since": since,
        "until": until,
        "graph": False if no_graph else None,
        "expand": False if no_expand else None,
        "abstain": False if no_abstain else None,
        "min_relevance": min_relevance,
        "include_decayed": include_decayed or None,
        "trace": trace or (explain and not as_json) or None,
        "render": render or None,
        "max_context_tokens": max_context_tokens,
    }
    with daemon() as client:
        answer = client.call("recall", **{n: v for n, v in given.items() if v is not None})
        if explain and not answer.get("hits") and answer.get("trace_id") and not as_json:
            answer["ranked"] = client.call("trace", trace_id=answer["trace_id"]).get("ranked")
    if as_json:
        print_json(answer)
    elif (block := answer.get("render")) and answer.get("hits"):
        click.echo(safe_lines(str(block["text"])))
    else:
        from brain_daemon.cli.hits import print_answer

        print_answer(answer, explain=explain)
    if not answer.get("hits"):
        ctx.exit(exits.NEGATIVE)


@command(example="brain trace 9f86d081884c7d65")
@click.argument("trace_id", metavar="ID")
@json_option
def trace_command(trace_id: str, as_json: bool) -> None:
    """Show how an answer came about, by the id that `brain recall --trace` printed."""
    with daemon() as client:
        found = client.call("trace", trace_id=trace_id)
    if as_json:
        print_json(found)
        return
    from brain_daemon.cli.hits import print_trace

    print_trace(found)


@command(example="brain get 17")
@click.argument("chunk_id", metavar="ID", type=int)
@json_option
def get_command(chunk_id: int, as_json: bool) -> None:
    """Show one chunk in full, by the id that recall prints."""
    with daemon() as client:
        chunk = client.call("get", id=chunk_id)
    if as_json:
        print_json(chunk)
        return
    from rich.text import Text

    from brain_daemon.cli.hits import location, title
    from brain_daemon.cli.output import console, flatten, pairs

    screen = console()
    screen.print(Text(title(chunk), style="bold cyan"))
    screen.print(Text(location(chunk), style="dim"))
    screen.print()
    screen.print(Text(safe_lines(str(chunk.get("text", "")))))
    screen.print()
    shown = {"text", "title", "heading_path", "uri", "lines"}
    screen.print(
        pairs(
            (name, plain(value, name))
            for name, value in flatten(chunk)
            if name not in shown and value not in (None, "", False, [])
        )
    )


@command(example='brain verify 17 "Ana moved to Lisbon"')
@click.argument("chunk_id", metavar="ID", type=int)
@click.argument("claim")
@json_option
@click.pass_context
def verify_command(ctx: click.Context, chunk_id: int, claim: str, as_json: bool) -> None:
    """Ask whether a chunk says, word for word, what CLAIM says.

    Exit code 1 when it does not.
    """
    with daemon() as client:
        verdict = client.call("verify", chunk_id=chunk_id, claim=claim)
        chunk = None if as_json else client.call("get", id=chunk_id)
    if chunk is None:
        print_json(verdict)
    else:
        from rich.text import Text

        from brain_daemon.cli.hits import split_at
        from brain_daemon.cli.output import console

        drawn = Text()
        for part, matched in split_at(str(chunk["text"]), verdict["match_ranges"]):
            drawn.append(safe_lines(part), style="bold yellow" if matched else "")
        answer = "supported" if verdict["supported"] else "not supported"
        screen = console()
        screen.print(Text(f"{answer}: {plain(verdict['decision'])}", style="bold"))
        screen.print(drawn)
    if not verdict["supported"]:
        ctx.exit(exits.NEGATIVE)
