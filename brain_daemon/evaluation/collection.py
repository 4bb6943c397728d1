"""A test collection on disk: documents, questions, and which document answers which question.

The layout is that of BEIR: ``corpus.jsonl``, ``queries.jsonl``, ``qrels.tsv`` (query, document,
gain; a header line is skipped), UTF-8 with or without a byte order mark. Beside them may lie
``kg.jsonl`` (``subject``, ``relation``, ``object``, ``docs``) and ``entities.jsonl`` (``doc``,
``entities``). Of the metadata, what a writer would know is used: ``sample`` is the domain,
``session`` in it the thread, ``seq`` the place in the thread, ``session_date`` the time of writing.
Nothing is added to the text.
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
_KINDS: dict[type, str] = {str: "a string", list: "an array", dict: "an object"}
_GAIN_HEADINGS = frozenset({"score", "relevance", "rel", "gain", "label"})
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
    """Documents, the judged questions, and by question the gain of each relevant document.

    ``unknown`` has what the other files speak of and the corpus or the questions lack, by file.
    """

    name: str
    documents: Sequence[Document]
    queries: Sequence[Query]
    qrels: Mapping[str, Mapping[str, int]]
    n_relations: int
    unknown: Mapping[str, Sequence[str]]


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
        for record in _distinct(folder / "corpus.jsonl", {"title": str, "metadata": dict})
    ]
    asked = {
        record["_id"]: Query(record["_id"], record["text"], _sample(record))
        for record in _distinct(folder / "queries.jsonl", {"metadata": dict})
    }
    queries = [query for query in asked.values() if query.id in qrels][:limit_queries]
    if not documents:
        raise BadRequest(f"{folder}: corpus.jsonl has no document")
    if not queries:
        raise BadRequest(f"{folder}: no question of queries.jsonl is judged in qrels.tsv")
    stored = {document.id for document in documents}
    judged = {document for gains in qrels.values() for document in gains}
    unknown = {
        "kg.jsonl": sorted(relations.keys() - stored),
        "entities.jsonl": sorted(entities.keys() - stored),
        "qrels.tsv": sorted((judged - stored) | (qrels.keys() - asked.keys())),
    }
    return Collection(
        folder.resolve().name,
        documents,
        queries,
        {query.id: qrels[query.id] for query in queries},
        sum(len(document.params["relations"]) for document in documents),
        {file: names for file, names in unknown.items() if names},
    )


def _document(
    record: Mapping[str, Any],
    entities: Mapping[str, list[Any]],
    relations: Mapping[str, list[Any]],
) -> Document:
    metadata = _metadata(record)
    sample = _sample(record)
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


def _sample(record: Mapping[str, Any]) -> str | None:
    sample = _metadata(record).get("sample")
    return None if sample is None else str(sample)


def _stamp(session_date: Any) -> Any:
    """Give ISO 8601 for a date as conversations write it; what is none is the engine's to judge."""
    try:
        return datetime.strptime(session_date, _SESSION_DATE).isoformat()
    except (TypeError, ValueError):
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
    for record in _records(path, {"subject": str, "relation": str, "object": str, "docs": list}):
        stated = {name: record[name] for name in ("subject", "relation", "object")}
        if max(map(len, stated.values())) > _MAX_NAME_CHARS:
            continue
        for document in record["docs"]:
            yield str(document), stated


def _entities(path: Path) -> Iterator[tuple[str, str]]:
    for record in _records(path, {"doc": str, "entities": list}):
        for entity in record["entities"]:
            yield record["doc"], entity


def _distinct(path: Path, optional: Mapping[str, type]) -> Iterator[dict[str, Any]]:
    """Read records with an ``_id`` that no other has, and a ``text``."""
    seen: set[str] = set()
    for number, record in enumerate(_records(path, {"_id": str, "text": str}, optional), 1):
        if record["_id"] in seen:
            raise BadRequest(f"{path}, record {number}: _id {record['_id']!r} stands there twice")
        seen.add(record["_id"])
        yield record


def _records(
    path: Path, required: Mapping[str, type], optional: Mapping[str, type] | None = None
) -> Iterator[dict[str, Any]]:
    optional = optional or {}
    for where, line in _lines(path):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadRequest(f"{where}: not JSON: {error}") from error
        if not isinstance(record, dict):
            raise BadRequest(f"{where}: give an object, not {line.strip()[:40]}")
        missing = [name for name in required if name not in record]
        if missing:
            raise BadRequest(f"{where}: without {', '.join(missing)}")
        for name, kind in {**required, **optional}.items():
            value = record.get(name)
            if not isinstance(value, kind) and (name in required or value is not None):
                raise BadRequest(f"{where}: {name} is {value!r:.40}; give {_KINDS[kind]}")
        yield record


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Give the lines that are not blank, each with what to call it in an error."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            where = f"{path}, line {number}"
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise BadRequest(f"{where}: not UTF-8: {error}") from error
            if text.strip():
                yield where, text


def _read_qrels(path: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for number, (where, line) in enumerate(_lines(path)):
        fields = line.rstrip("\r\n").split("\t")
        if number == 0 and fields[-1].casefold() in _GAIN_HEADINGS:
            continue
        try:
            query, document, gain = fields
            if int(gain) > 0:
                qrels[query][document] = int(gain)
        except ValueError as error:
            raise BadRequest(
                f"{where}: give query, document and gain, a whole number, with tabs between"
            ) from error
    return dict(qrels)
