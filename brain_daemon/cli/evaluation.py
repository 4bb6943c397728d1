"""``brain eval``: measures recall on a test collection. It needs no daemon.

The engine runs in this process on a temporary store, so its modules are imported by the command
and not before.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from brain_daemon.cli import exits
from brain_daemon.cli.command import command, fail_on_file, json_option
from brain_daemon.cli.output import console, print_json, safe, table

_NAMED = 5  # of the ids that lead nowhere


@command(example="brain eval beir/scifact --png scifact.png")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--k",
    "cutoffs",
    multiple=True,
    type=click.IntRange(1, 100),
    default=(5, 10, 20),
    help="Where recall is cut off; repeatable.  [default: 5, 10, 20]",
)
@click.option("--limit-queries", type=click.IntRange(min=1), help="Only the first so many.")
@click.option("--no-kg", is_flag=True, help="Leave kg.jsonl and entities.jsonl out.")
@click.option("--png", type=click.Path(dir_okay=False, path_type=Path), help="Draw it too.")
@json_option
def eval_command(
    folder: Path,
    cutoffs: tuple[int, ...],
    limit_queries: int | None,
    no_kg: bool,
    png: Path | None,
    as_json: bool,
) -> None:
    """Measure recall on a BEIR folder: each leg, each pair, the fusion, ablations.

    Exit code 1 when the fusion falls more than 0.01 below its best single leg.
    """
    try:
        from brain_daemon.evaluation.picture import draw
        from brain_daemon.evaluation.report import evaluate
    except ModuleNotFoundError as error:
        raise exits.Failure(
            f"{error.name} is not installed: pip install 'brain-daemon[eval]'", exits.USAGE
        ) from error

    report = evaluate(
        folder,
        cutoffs=cutoffs,
        limit_queries=limit_queries,
        kg=not no_kg,
        say=lambda text: click.echo(f"{text} …", err=True),
    )
    if as_json:
        print_json(report)
    else:
        _print_table(report)
    if png is not None:
        try:
            draw(report, png)
        except OSError as error:
            fail_on_file(png, error)
    if not all(verdict["holds"] for verdict in report["verdict"].values()):
        click.get_current_context().exit(exits.NEGATIVE)


def _print_table(report: dict[str, Any]) -> None:
    screen = console()
    counts = (
        f"{report['collection']}: {report['documents']:,} documents, {report['chunks']:,} chunks, "
        f"{report['relations']:,} given relations, {report['queries']:,} questions"
    )
    screen.print(counts)
    names = report["measures"]
    rows = [
        [row["name"], *(f"{row['figures'][name]:.3f}" for name in names)] for row in report["rows"]
    ]
    screen.print(table(["ranking", *names], rows))
    for name, verdict in report["verdict"].items():
        screen.print(
            f"{name}: full fusion {verdict['fusion']:.3f}, best leg {verdict['best']:.3f} "
            f"({verdict['best_leg']}), {verdict['margin']:+.3f}"
        )
    for file, names in report["unknown"].items():
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        screen.print(safe(f"{file} speaks of what is not there: {', '.join(names[:_NAMED])}{more}"))
    for document, reason in report["refused"].items():
        screen.print(safe(f"not stored: {document}: {reason}"))
    for question, reason in report["not_asked"].items():
        screen.print(safe(f"not asked: {question}: {reason}"))
    if report["flagged"]:
        screen.print(safe(f"in quarantine: {', '.join(report['flagged'])}"))
