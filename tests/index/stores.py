"""A real store file with its mirror, for the tests of index and recall."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brain_daemon._ext.distance import quantize_int8
from brain_daemon.index.load import load
from brain_daemon.index.snapshot import Change, Snapshot
from brain_daemon.model import (
    Mention,
    PreparedChunk,
    PreparedDocument,
    Principal,
    Relation,
    Tags,
)
from brain_daemon.store import connection, documents, schema
from brain_daemon.text.analyzer import ANALYZER_VERSION, Analyzer

DIM = 64
NOW_US = 1_800_000_000_000_000
ANALYZER = Analyzer("english")
ALICE = Principal("alice", 1000, 1000, 1)
BOB = Principal("bob", 1001, 1001, 2)
WRITER = {"uid": 1000, "pid": 1, "name": "alice"}


def direction(seed: str, dim: int = DIM) -> np.ndarray:
    """A made-up unit vector, the same for the same seed."""
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "little")
    vector = np.random.default_rng(number).standard_normal(dim).astype(np.float32)
    return vector / np.linalg.norm(vector)


def chunk(
    text: str,
    *,
    title: str = "",
    names: Sequence[str] = (),
    relations: Sequence[tuple[str, str, str]] = (),
    embedding: np.ndarray | None = None,
    dim: int = DIM,
) -> PreparedChunk:
    vector, scale = quantize_int8(direction(text, dim) if embedding is None else embedding)
    ends = [end for subject, _, object_ in relations for end in (subject, object_)]
    return PreparedChunk(
        text=text,
        heading_path=(),
        line_start=1,
        line_end=1 + text.count("\n"),
        terms=ANALYZER.index(title, text),
        vector=vector,
        scale=scale,
        mentions=tuple(Mention(name, "explicit") for name in [*names, *ends]),
        relations=tuple(Relation(*relation) for relation in relations),
    )


def document(
    *chunks: PreparedChunk, uri: str | None = None, title: str = "", **tags: Any
) -> PreparedDocument:
    content = repr((title, tags, [c.text for c in chunks])).encode()
    defaults: dict[str, Any] = {"owner": "alice", "created_at_us": NOW_US - 1_000_000}
    return PreparedDocument(
        uri, title, hashlib.sha256(content).digest(), Tags(**(defaults | tags)), chunks
    )


class MirroredStore:
    """A store, and the snapshot that followed every one of its commits."""

    def __init__(self, path: Path, dim: int = DIM) -> None:
        self.dim = dim
        self.conn = connection.open_writer(path)
        schema.prepare(
            self.conn,
            dim=dim,
            model_fingerprint="f" * 64,
            model_name="made up",
            analyzer_version=ANALYZER_VERSION,
            language="english",
        )
        self.snapshot: Snapshot = load(self.conn, dim)

    def put(self, *prepared: PreparedDocument) -> list[list[int]]:
        """Store documents in one commit; the chunk ids of each."""
        with self.conn:
            results = [documents.put(self.conn, d, WRITER, NOW_US) for d in prepared]
        self.advance(*map(Change.put, prepared, results))
        return [result.chunk_ids for result in results]

    def add(self, text: str, *, embedding: Any = None, **options: Any) -> int:
        """Store a document of one chunk; its chunk id."""
        of_chunk = {name: options.pop(name) for name in ("names", "relations") if name in options}
        made = chunk(
            text,
            title=options.get("title", ""),
            embedding=embedding,
            dim=self.dim,
            **of_chunk,
        )
        return self.put(document(made, **options))[0][0]

    def forget(self, *chunk_ids: int) -> None:
        with self.conn:
            removals = [documents.remove_chunk(self.conn, id_) for id_ in chunk_ids]
        self.advance(*(Change.removal(removal.chunk_ids) for removal in removals))

    def advance(self, *changes: Change) -> None:
        self.snapshot = self.snapshot.advance(changes)

    def loaded(self) -> Snapshot:
        """The same store, mirrored anew."""
        return load(self.conn, self.dim)

    def row(self, chunk_id: int) -> int:
        return int(self.snapshot.rows.find([chunk_id])[0])

    def ids(self, rows: Any) -> list[int]:
        return self.snapshot.rows.chunk_id[rows].tolist()
