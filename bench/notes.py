"""Questions on Markdown notes, written by hand, and stores that hold the notes.

``vault.tsv`` asks of the vault among the tuning collections, ``documentation.tsv`` of our own
``docs/``: that one is held out, nothing was ever fitted on it. Each line has the file that answers
and a question in other words than the file's, or ``-`` and a question that no file answers.
"""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from brain_daemon.evaluation.loaded import LoadedCollection, loaded
from brain_daemon.service.dispatch import Dispatcher

HERE = Path(__file__).resolve().parent
VAULT = HERE / "vault.tsv"
DOCUMENTATION = HERE / "documentation.tsv"
DOCUMENTS = HERE.parent / "docs"
NOWHERE = "-"


class NoteQuestion(NamedTuple):
    """A question, and the name of the file that answers it; None: none does."""

    text: str
    file: str | None


def read(path: Path) -> list[NoteQuestion]:
    """Read questions on notes."""
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    pairs = [line.split("\t") for line in lines]
    return [NoteQuestion(text, None if file == NOWHERE else file) for file, text in pairs]


@contextmanager
def ingested(files: Iterable[Path]) -> Iterator[LoadedCollection]:
    """Ingest Markdown files, each known by its name, for the length of the block."""
    with loaded([]) as store:
        asyncio.run(_ingest(store, files))
        yield store


async def _ingest(store: LoadedCollection, files: Iterable[Path]) -> None:
    dispatcher = Dispatcher(store.memory)
    try:
        for file in files:
            params = {"content": file.read_text(encoding="utf-8"), "uri": file.name}
            answer = await dispatcher("ingest_markdown", params, store.principal, False)
            for chunk_id in answer["chunk_ids"]:
                store.documents.setdefault(chunk_id, []).append(file.name)
    finally:
        dispatcher.close()
