"""What a write repeats: echoes of what was recalled, and near-duplicates, which are only reported.

An echo is recalled text written back as it was: storing it would make a memory look confirmed by
itself. Nothing is merged but what is the same to the letter, white space, invisible characters and
quotation aside: two facts may differ in one word. Both look through the writer's own eyes and never
tell of others' memories. Recalled text in other words is a new memory.
"""

import re
import unicodedata
from typing import Any

import apsw
import numpy as np

from brain_daemon._ext import bm25
from brain_daemon.errors import Conflict
from brain_daemon.index.visibility import Filters
from brain_daemon.model import PreparedChunk, PreparedDocument, Principal, StoredChunk, Tags
from brain_daemon.recall import vector
from brain_daemon.service.memory import Memory
from brain_daemon.store import chunks
from brain_daemon.timestamps import now_us

NEAR_COSINE = 0.9
MAX_NEAR = 5
CHECKED_CHUNKS = 4  # of a document: looking for the like of a chunk is one vector search
_ECHO_READ = 64  # chunks of those that hold all words of a text

_RENDERING = re.compile(r"\s*<untrusted-data [0-9a-f]+>.*</untrusted-data [0-9a-f]+>\s*", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_BULLET = re.compile(r"[-*•] +(?=\S)")
_FENCED = re.compile(r"\s*(`{3,}|~{3,})\w*\n(.*)\n\1\s*", re.DOTALL)
_QUOTES = {
    '"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»", "»": "«", "„": "“", "‹": "›",
    "「": "」",
}  # fmt: skip


def refuse_rendering(document: PreparedDocument) -> None:
    """Refuse a text that is nothing but a block of recalled memories.

    Raises
    ------
    Conflict
        The text is a block that ``render`` made.
    """
    if _RENDERING.fullmatch("\n".join(chunk.text for chunk in document.chunks)):
        raise Conflict(
            "the text is a block of recalled memories, which are stored already; store what is new "
            "about them in words of its own"
        )


def find_echo(
    memory: Memory, document: PreparedDocument, principal: Principal
) -> StoredChunk | None:
    """Find the visible chunk that a text without a uri or statements of its own repeats."""
    (first, *more) = document.chunks
    if more:
        return None
    wanted = _bare(first.text)
    for chunk in _holding(memory, first, wanted, document.tags, principal):
        if (
            _bare(chunk.text) == wanted
            and document.title in ("", chunk.title)
            and document.tags.owner == chunk.tags.owner  # another's may leave without asking
            and _adds_nothing(document.tags, chunk.tags)
        ):
            return chunk
    return None


def stands(connection: apsw.Connection, echo: StoredChunk) -> bool:
    """Tell whether the chunk is still stored: a forget may have come between."""
    return bool(chunks.fetch(connection, (echo.id,)))


def near_duplicates(
    memory: Memory, document: PreparedDocument, principal: Principal
) -> list[dict[str, Any]]:
    """List visible chunks of the same domain that say nearly the same, the nearest first.

    Only what was stored before, and of a long document only what its first chunks resemble; its
    own earlier revision is left out.
    """
    snapshot = memory.snapshot
    settings = memory.settings
    visible = snapshot.visible(principal, Filters(domain=document.tags.domain), now_us())
    cosines: dict[int, float] = {}
    for chunk in document.chunks[:CHECKED_CHUNKS]:
        found = vector.search(
            snapshot.vectors,
            chunk.vector,
            chunk.scale,
            visible.mask,
            depth=MAX_NEAR,
            exact_rows=settings["recall_exact_rows"],
            candidates=settings["recall_bit_candidates"],
        )
        for row, cosine in zip(found.rows.tolist(), found.scores.tolist(), strict=True):
            if cosine >= NEAR_COSINE:
                chunk_id = int(snapshot.rows.chunk_id[row])
                cosines[chunk_id] = max(cosine, cosines.get(chunk_id, 0.0))
    if not cosines:
        return []
    texts = {chunk.text for chunk in document.chunks}
    own = (document.uri, document.tags.owner)
    records: list[dict[str, Any]] = [
        {
            "id": chunk.id,
            "document_id": chunk.document_id,
            "uri": chunk.uri,
            "cosine": min(cosines[chunk.id], 1.0),
            "identical": chunk.text in texts,
        }
        for chunk in chunks.fetch(memory.reader(), sorted(cosines))
        if (chunk.uri, chunk.tags.owner) != own
    ]
    records.sort(key=lambda record: (-record["cosine"], record["id"]))
    return records[:MAX_NEAR]


def _holding(
    memory: Memory, chunk: PreparedChunk, bare: str, tags: Tags, principal: Principal
) -> list[StoredChunk]:
    """Visible chunks that hold all words of a text, those of about its length first."""
    snapshot = memory.snapshot
    is_bare = bare == " ".join(chunk.text.split())
    words = (chunk.terms if is_bare else memory.analyzer.index("", bare)).body.split(" ")
    term_ids = snapshot.vocabulary.lookup(" ".join(dict.fromkeys(words)).encode())
    rows = bm25.rows_with_all(snapshot.postings, term_ids)
    if not len(rows):
        return []
    rows = rows[snapshot.visible(principal, Filters(domain=tags.domain), now_us()).mask[rows] != 0]
    nearest = np.argsort(np.abs(snapshot.rows.length[rows] - len(words)), kind="stable")
    read = snapshot.rows.chunk_id[rows[nearest[:_ECHO_READ]]]
    return chunks.fetch(memory.reader(), read.tolist())


def _bare(text: str) -> str:
    """A text without the white space and the marks of quotation around it, and what is invisible.

    Quotation may be nested: a quoted block in a fence, a bullet with quotation marks.
    """
    seen = text
    while True:
        fenced = _FENCED.fullmatch(seen)
        inner = fenced[2] if fenced else seen
        if ">" in inner:
            inner = _QUOTED_LINE.sub("", inner)
        if not inner.isascii():
            inner = "".join(c for c in inner if unicodedata.category(c) != "Cf")
        inner = inner.strip()
        inner = _BULLET.sub("", inner, count=1) if _BULLET.match(inner) else inner
        if len(inner) > 1 and _QUOTES.get(inner[0]) == inner[-1]:
            inner = inner[1:-1]
        if inner == seen:
            return " ".join(seen.split())
        seen = inner


def _adds_nothing(new: Tags, old: Tags) -> bool:
    """Whether a repetition says nothing about the text that the stored memory does not."""
    return (
        (new.domain, new.access_scope) == (old.domain, old.access_scope)
        and new.node_kind in (None, old.node_kind)
        and new.lawful_basis in (None, old.lawful_basis)
        and new.region in (None, old.region)
        and new.pii in (False, old.pii)
        and new.expires_at_us in (None, old.expires_at_us)
    )
