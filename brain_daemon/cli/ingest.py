"""``brain ingest``: files and vaults into the store, and a report of what became of each."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brain_daemon.cli import exits
from brain_daemon.cli.command import LONG_TIMEOUT_S, command, daemon, fail_on_file, json_option
from brain_daemon.cli.output import count, print_json, safe
from brain_daemon.cli.vault import Note, Problem, Unreadable, notes_of, read_text, vanished
from brain_daemon.errors import BrainError, ConnectionLost

if TYPE_CHECKING:
    from brain_daemon.client import Client

IN_FLIGHT = 32
PAGE_DOCUMENTS = 1000
STATUSES = ("new", "changed", "unchanged", "empty", "vanished", "forgotten", "skipped", "failed")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one path; ``status`` is one of `STATUSES`."""

    path: str
    uri: str | None
    status: str
    reason: str | None = None
    document_id: int | None = None
    chunks: int = 0


@command(example="brain ingest ~/vault")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--domain", help="The domain the notes belong to.  [default: default]")
@click.option("--access-scope", help="Who may see them.  [default: private]")
@click.option("--dry-run", is_flag=True, help="Say what would happen, and do nothing.")
@click.option("--prune", is_flag=True, help="Forget notes that vanished from a given folder.")
@click.option(
    "--ignore-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="More rules in gitignore syntax, relative to each given folder.",
)
@json_option
@click.pass_context
def ingest_command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    domain: str | None,
    access_scope: str | None,
    dry_run: bool,
    prune: bool,
    ignore_file: Path | None,
    as_json: bool,
) -> None:
    """Store Markdown and text files, and whole vaults.

    Run it again to take in what changed: a note that did not change costs nothing, one that did
    becomes a new revision. Of a folder it takes *.md, *.markdown and *.txt; it leaves out hidden
    files and folders, node_modules, and what a .brainignore (gitignore syntax, in any folder)
    names.

    Exit code 1 when a file failed.
    """
    tags = {"domain": domain, "access_scope": access_scope}
    found: list[Note | Problem] = []
    for path in paths:
        try:
            found += notes_of(path, ignore_file)
        except (OSError, ValueError) as error:
            fail_on_file(ignore_file or path, error)
    with daemon(LONG_TIMEOUT_S) as client:
        outcomes = store(
            client,
            list({note.uri: note for note in found if isinstance(note, Note)}.values()),
            {name: value for name, value in tags.items() if value is not None},
            dry_run=dry_run,
            show_progress=not as_json and sys.stderr.isatty(),
        )
        outcomes += [
            Outcome(str(p.path), None, "failed" if p.failed else "skipped", p.reason)
            for p in found
            if isinstance(p, Problem)
        ]
        roots = [path.resolve() for path in paths if path.is_dir()]
        outcomes += leave(client, roots, outcomes, found, prune=prune and not dry_run)
    if as_json:
        print_json(report(outcomes, dry_run=dry_run))
    else:
        print_report(outcomes, dry_run=dry_run, prune=prune)
    if any(outcome.status == "failed" for outcome in outcomes):
        ctx.exit(exits.NEGATIVE)


def store(
    client: Client,
    notes: list[Note],
    tags: Mapping[str, Any],
    *,
    dry_run: bool,
    show_progress: bool,
) -> list[Outcome]:
    """Send each note, several in flight, and give its outcome, in the order of ``notes``.

    Raises
    ------
    ConnectionLost
        The daemon went away; what it stored before stays, and the same ingest goes on from there.
    """
    limits = client.call("hello").get("limits") or {}
    max_bytes = int(limits.get("max_text_bytes", 1 << 20))
    outcomes: dict[str, Outcome] = {}
    sent: list[Note] = []

    def calls() -> Iterator[tuple[str, dict[str, Any]]]:
        extra = {"dry_run": True} if dry_run else {}
        for note in notes:
            try:
                content = read_text(note.path, max_bytes)
            except Unreadable as error:
                outcomes[note.uri] = Outcome(str(note.path), note.uri, "failed", str(error))
                continue
            if not content.strip():
                outcomes[note.uri] = Outcome(str(note.path), note.uri, "empty")
                continue
            sent.append(note)
            params = {"content": content, "uri": note.uri, "source": note.source}
            yield "ingest_markdown", {**params, **tags, **extra}

    with _progress(len(notes), show_progress) as advance:
        for index, answer in enumerate(client.pipeline(calls(), in_flight=IN_FLIGHT)):
            if isinstance(answer, ConnectionLost):
                raise answer
            note = sent[index]
            outcomes[note.uri] = outcome_of(note, answer)
            advance(len(outcomes))
    return [outcomes[note.uri] for note in notes]


def outcome_of(note: Note, answer: Mapping[str, Any] | BrainError) -> Outcome:
    """Read the daemon's answer to one note."""
    if isinstance(answer, BrainError):
        return Outcome(str(note.path), note.uri, "failed", answer.message)
    status = "unchanged" if answer.get("unchanged") else "new" if answer["created"] else "changed"
    return Outcome(
        str(note.path),
        note.uri,
        status,
        "flagged for review" if answer.get("flagged") else None,
        answer.get("id"),
        len(answer.get("chunk_ids") or ()),
    )


def leave(
    client: Client,
    roots: Iterable[Path],
    outcomes: Iterable[Outcome],
    found: list[Note | Problem],
    *,
    prune: bool,
) -> list[Outcome]:
    """Find stored documents that are no longer among the notes of a folder; forget on ``prune``.

    A folder without a single note keeps what is stored of it: an unmounted disk looks like that.
    """
    empty = {outcome.uri for outcome in outcomes if outcome.status == "empty"}
    seen = {note.uri for note in found if isinstance(note, Note)} - empty
    problems = [problem for problem in found if isinstance(problem, Problem)]
    left: dict[str, Outcome] = {}
    for root in roots:
        prefix = root.as_uri().rstrip("/") + "/"
        stored = {document["uri"]: document for document in documents(client, prefix)}
        for uri, reason in vanished(stored, seen, problems, root):
            document = stored[uri]
            if uri in empty:
                reason = "empty now"
            elif reason == "left out" and document.get("source") != "vault":
                continue  # someone named that file outright
            left[uri] = Outcome(uri, uri, "vanished", reason, document["document_id"])
        is_bare = not any(isinstance(n, Note) and n.path.is_relative_to(root) for n in found)
        if prune and is_bare and any(uri.startswith(prefix) for uri in left):
            reason = "there is no note in it (not mounted?): nothing was pruned"
            left = {uri: o for uri, o in left.items() if not uri.startswith(prefix)}
            left[prefix] = Outcome(str(root), None, "failed", reason)
    if not prune:
        return list(left.values())
    going = [outcome for outcome in left.values() if outcome.status == "vanished"]
    calls = (("forget", {"document_id": outcome.document_id}) for outcome in going)
    for outcome, answer in zip(going, client.pipeline(calls, in_flight=IN_FLIGHT), strict=True):
        failed = isinstance(answer, BrainError) and answer.code != "not_found"
        left[outcome.path] = Outcome(
            outcome.path,
            outcome.uri,
            "failed" if failed else "forgotten",
            answer.message if failed else outcome.reason,
            outcome.document_id,
        )
    return list(left.values())


def documents(client: Client, uri_prefix: str) -> Iterator[dict[str, Any]]:
    """List the stored documents whose URI begins with ``uri_prefix``, page by page."""
    cursor: dict[str, Any] = {}
    while True:
        page = client.call("documents", uri_prefix=uri_prefix, limit=PAGE_DOCUMENTS, **cursor)
        yield from page["documents"]
        if page.get("next") is None:
            return
        cursor = {"after": page["next"]}


@contextmanager
def _progress(total: int, show: bool) -> Iterator[Callable[[int], None]]:
    if not show:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)


def report(outcomes: list[Outcome], *, dry_run: bool) -> dict[str, Any]:
    """Give the JSON document: a count for each status, and what became of each path."""
    counts = Counter(outcome.status for outcome in outcomes)
    return {
        "dry_run": dry_run,
        "counts": {status: counts[status] for status in STATUSES},
        "chunks": sum(outcome.chunks for outcome in outcomes),
        "files": [asdict(outcome) for outcome in outcomes],
    }


def print_report(outcomes: list[Outcome], *, dry_run: bool, prune: bool) -> None:
    """Print the counts, then each path that someone should look at, and why."""
    from rich.text import Text

    from brain_daemon.cli.output import console

    screen = console()
    counts = Counter(outcome.status for outcome in outcomes)
    summary = ", ".join(f"{counts[status]:,} {status}" for status in STATUSES if counts[status])
    line = Text(summary or "no files", style="bold")
    if n_chunks := sum(outcome.chunks for outcome in outcomes):
        line.append(f" · {count(n_chunks, 'chunk')} stored", style="not bold")
    screen.print(line)
    notable = {"failed": "red", "skipped": "yellow", "vanished": "yellow", "forgotten": "yellow"}
    for outcome in outcomes:
        style = notable.get(outcome.status) or ("yellow" if outcome.reason else None)
        if style is None:
            continue
        line = Text(f"{outcome.status:>9}  ", style=style)
        line.append(safe(outcome.path))
        line.append(f": {safe(outcome.reason)}" if outcome.reason else "")
        screen.print(line)
    if counts["vanished"] and not prune:
        screen.print("vanished notes stay in the store; forget them with --prune", style="dim")
    if dry_run:
        screen.print("dry run: nothing was stored or forgotten", style="dim")
