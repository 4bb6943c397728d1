"""The labelled set: what is an order to a model, and what only looks like one.

``python -m tests.screening.labelled`` prints precision and recall as `docs/screening.md` shows
them, and with ``--collections`` the false alarms in the public test collections. Every other line
is half B: the rules were written with half A before the eyes. The later examples and the evading
ones were written against the rules, to learn what they miss. The held-out ones were, too, before
the rules were widened last; nobody read what was missed of them, and no rule may be written for
them.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from brain_daemon.ingest import markdown
from brain_daemon.ingest.chunking import chunk_markdown, chunk_text
from brain_daemon.ingest.screening import screen

FOLDER = Path(__file__).parent
COLLECTIONS = ("cranfield", "scifact", "locomo_dev", "musique_kg")


PARTS = ("A", "B", "later", "evading", "all", "held")


class Example(NamedTuple):
    kind: str
    language: str
    text: str


class Figures(NamedTuple):
    """What the screening makes of examples."""

    missed: list[Example]
    false_alarms: list[Example]
    precision: float
    recall: float


def examples(name: str, part: str = "all") -> list[Example]:
    """Read ``positive`` or ``negative``: one of `PARTS`; ``all`` is without the held-out ones."""
    if part == "held":
        return _read(f"held_{name}.jsonl")
    first, later = _read(f"{name}.jsonl"), _read(f"later_{name}.jsonl")
    evading = _read(f"evading_{name}.jsonl")
    return {
        "A": first[0::2],
        "B": first[1::2],
        "later": later,
        "evading": evading,
        "all": first + later + evading,
    }[part]


def _read(name: str) -> list[Example]:
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [Example(**json.loads(line)) for line in lines]


def measure(part: str = "all") -> Figures:
    positive, negative = examples("positive", part), examples("negative", part)
    missed = [example for example in positive if not screen(example.text)]
    false_alarms = [example for example in negative if screen(example.text)]
    n_caught = len(positive) - len(missed)
    return Figures(
        missed,
        false_alarms,
        n_caught / (n_caught + len(false_alarms)),
        n_caught / len(positive),
    )


def chunks_of(folder: Path, name: str) -> Iterator[str]:
    """Give the chunks of a test collection, or of the folder of Markdown files ``vault``."""
    if name == "vault":
        for path in sorted((folder / name).rglob("*.md")):
            text = path.read_text(encoding="utf-8", errors="replace")
            if text.strip():
                for chunk in chunk_markdown(markdown.parse(text)):
                    yield "\n".join((*chunk.heading_path, chunk.text))
        return
    with (folder / name / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            for chunk in chunk_text(record["text"]) if record["text"].strip() else ():
                yield f"{record.get('title') or ''}\n{chunk.text}"


def main() -> None:
    for part in PARTS:
        found = measure(part)
        print(f"{part:7} precision {found.precision:.3f}  recall {found.recall:.3f}")
        for label, wrong in (("missed", found.missed), ("false alarm", found.false_alarms)):
            for example in wrong if part == "all" else ():
                print(f"    {label} ({example.kind}, {example.language}): {example.text!r}")
    if "--collections" not in sys.argv:
        return
    folder = Path(os.environ.get("BRAIN_TEST_DATA", FOLDER.parents[2] / "shared" / "data"))
    for name in (*COLLECTIONS, "vault"):
        texts = list(chunks_of(folder, name))
        started = time.thread_time_ns()
        alarms = [text for text in texts if screen(text)]
        mean_us = (time.thread_time_ns() - started) / 1000 / len(texts)
        n_chars = sum(map(len, texts)) // len(texts)
        print(
            f"{name}: {len(alarms)} of {len(texts)} chunks, {mean_us:.0f} µs each ({n_chars} "
            "characters)"
        )
        for text in alarms:
            print(f"    {screen(text)}: {text[:160]!r}")


if __name__ == "__main__":
    main()
