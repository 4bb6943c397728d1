"""Prepared documents for the store's tests: real analyser, made-up vectors."""

import hashlib
from typing import Any

import apsw
import numpy as np

from brain_daemon.model import (
    Mention,
    PreparedChunk,
    PreparedDocument,
    Relation,
    Tags,
)
from brain_daemon.text.analyzer import ANALYZER_VERSION, Analyzer

DIM = 64
WRITER = {"uid": 1000, "pid": 4242, "name": "alice"}
ANALYZER = Analyzer()


def model_facts(**changes: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "dim": DIM,
        "model_fingerprint": "f" * 64,
        "model_name": "tiny",
        "analyzer_version": ANALYZER_VERSION,
        "language": "english",
    }
    return facts | changes


def vector_of(text: str, dim: int = DIM) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).integers(-127, 128, dim).astype(np.int8)


def make_chunk(
    text: str,
    *,
    title: str = "",
    names: tuple[str, ...] = (),
    relations: tuple[tuple[str, str, str], ...] = (),
    heading_path: tuple[str, ...] = (),
    lines: tuple[int, int] = (1, 1),
    vector: np.ndarray | None = None,
    scale: float = 0.004,
) -> PreparedChunk:
    return PreparedChunk(
        text=text,
        heading_path=heading_path,
        line_start=lines[0],
        line_end=lines[1],
        terms=ANALYZER.index(title, text),
        vector=vector_of(text) if vector is None else vector,
        scale=scale,
        mentions=tuple(Mention(name, "span") for name in names),
        relations=tuple(Relation(*relation) for relation in relations),
    )


def make_document(
    *chunks: PreparedChunk | str, uri: str | None = None, title: str = "", **tags: Any
) -> PreparedDocument:
    made = tuple(c if isinstance(c, PreparedChunk) else make_chunk(c, title=title) for c in chunks)
    content = repr((title, sorted(tags.items()), [(c.text, c.heading_path) for c in made]))
    return PreparedDocument(
        uri=uri,
        title=title,
        content_hash=hashlib.sha256(content.encode()).digest(),
        tags=Tags(**({"owner": "alice", "created_at_us": 1_700_000_000_000_000} | tags)),
        chunks=made,
    )


def make_older(conn: apsw.Connection, version: int) -> None:
    """Let a store be as a program with that schema number left it (5 at most, 4 at least)."""
    conn.execute("DROP INDEX chunk_copy; ALTER TABLE chunk DROP COLUMN copy_hash")
    conn.pragma("user_version", version)
