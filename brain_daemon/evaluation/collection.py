"""A test collection on disk: documents, questions, and which document answers which question.

The layout is that of BEIR: ``corpus.jsonl``, ``queries.jsonl``, ``qrels.tsv`` (query, document,
gain; a header line is skipped). Beside them may lie ``kg.jsonl`` (``subject``, ``relation``,
``object``, ``docs``) and ``entities.jsonl`` (``doc``, ``entities``). Of the metadata, what a
writer would know is used: ``sample`` is the domain, ``session`` in it the thread, ``seq`` the
place in the thread, ``session_date`` the time of writing. Nothing is added to the text.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from brain_daemon.errors import BadRequest

_MAX_NAME_CHARS = 256  # that remember takes; longer ends are sentences, and are left out
_SESSION_DATE = "%I:%M %p on %d %B, %Y"  # "1:56 pm on 8 May, 2023"


@dataclass(frozen=True, slots=True)
class Document:
    """One memory: ``params`` are those of ``remember``."""

    id: str
    params: Mapping[str, Any]

    @property
    def domain(self) -> str | None:
        return self.params.get("domain")

    @property
    def words(self) -> str:
        """Title and text."""
        return f"{self.params.get('title', '')}\n{self.params['text']}"


@dataclass(frozen=True, slots=True)
class Query:
    """A question; ``domain`` None: it is asked of everything."""

    id: str
    text: str
    domain: str | None


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, the judged questions, and by question the gain of each relevant document."""

    name: str
    documents: Sequence[Document]
    queries: Sequence[Query]
    qrels: Mapping[str, Mapping[str, int]]
    n_relations: int


def read(folder: Path, *, kg: bool = True, limit_queries: int | None = None) -> Collection:
    """Read a collection.

    Parameters
    ----------
    folder : Path
    kg : bool
        Whether ``kg.jsonl`` and ``entities.jsonl`` are given to the engine where they exist.
    limit_queries : int, optional
        Take the first so many of the judged questions.

    Raises
    ------
    BadRequest
        A file is not what it should be; names the file and line.
    OSError
        A file cannot be read.
    """
    qrels = _read_qrels(folder / "qrels.tsv")
    relations = _by_document(folder / "kg.jsonl", _relations) if kg else {}
    entities = _by_document(folder / "entities.jsonl", _entities) if kg else {}
    documents = [
        _document(record, entities, relations)
        for record in _records(folder / "corpus.jsonl", ("_id", "text"))
    ]
    queries = [
        Query(record["_id"], record["text"], _metadata(record).get("sample"))
        for record in _records(folder / "queries.jsonl", ("_id", "text"))
        if record["_id"] in qrels
    ][:limit_queries]
    if not queries:
        raise BadRequest(f"{folder}: no question of queries.jsonl is judged in qrels.tsv")
    return Collection(
        folder.resolve().name,
        documents,
        queries,
        {query.id: qrels[query.id] for query in queries},
        sum(map(len, relations.values())),
    )


def _document(
    record: Mapping[str, Any],
    entities: Mapping[str, list[Any]],
    relations: Mapping[str, list[Any]],
) -> Document:
    metadata = _metadata(record)
    sample = metadata.get("sample")
    params: dict[str, Any] = {
        "uri": record["_id"],
        "text": record["text"],
        "title": record.get("title") or "",
        "entities": entities.get(record["_id"], []),
        "relations": relations.get(record["_id"], []),
    }
    if sample is not None:
        params["domain"] = sample
    if "session" in metadata and "seq" in metadata:
        params["thread"] = f"{sample or ''}/{metadata['session']}"
        params["seq"] = metadata["seq"]
    if "session_date" in metadata:
        params["created_at"] = _stamp(metadata["session_date"])
    return Document(record["_id"], params)


def _metadata(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return record.get("metadata") or {}


def _stamp(session_date: str) -> str:
    """Give ISO 8601 for a date as conversations write it; what is none is the engine's to judge."""
    try:
        return datetime.strptime(session_date, _SESSION_DATE).isoformat()
    except ValueError:
        return session_date


def _by_document(
    path: Path, parts: Callable[[Path], Iterator[tuple[str, Any]]]
) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    if path.exists():
        for document, part in parts(path):
            if part not in found[document]:
                found[document].append(part)
    return found


def _relations(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for record in _records(path, ("subject", "relation", "object", "docs")):
        stated = {name: record[name] for name in ("subject", "relation", "object")}
        if max(map(len, stated.values())) > _MAX_NAME_CHARS:
            continue
        for document in record["docs"]:
            yield document, stated


def _entities(path: Path) -> Iterator[tuple[str, str]]:
    for record in _records(path, ("doc", "entities")):
        for entity in record["entities"]:
            yield record["doc"], entity


def _records(path: Path, required: Sequence[str]) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError as error:
                raise BadRequest(f"{path}, line {number}: not JSON: {error}") from error
            missing = [name for name in required if name not in record]
            if missing:
                raise BadRequest(f"{path}, line {number}: without {', '.join(missing)}")
            yield record


def _read_qrels(path: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            fields = line.rstrip("\n").split("\t")
            if number == 1 and fields[-1:] == ["score"]:
                continue
            try:
                query, document, gain = fields
                if int(gain) > 0:
                    qrels[query][document] = int(gain)
            except ValueError as error:
                raise BadRequest(
                    f"{path}, line {number}: give query, document and gain, with tabs between"
                ) from error
    return dict(qrels)
