"""What a hit shows for itself: the chunk's record, a verbatim snippet and its highlights."""

from typing import Any

from brain_daemon._ext.excerpt import window
from brain_daemon.model import StoredChunk, Tags
from brain_daemon.text.analyzer import Highlighter
from brain_daemon.timestamps import format_us

SNIPPET_CHARS = 320


def chunk_record(chunk: StoredChunk) -> dict[str, Any]:
    """Give a chunk as the wire has it."""
    return {
        "id": chunk.id,
        "document_id": chunk.document_id,
        "uri": chunk.uri,
        "revision": chunk.revision,
        "title": chunk.title,
        "text": chunk.text,
        "untrusted": True,
        "heading_path": list(chunk.heading_path),
        "lines": [chunk.line_start, chunk.line_end],
        **tags_record(chunk.tags),
        "writer": chunk.writer,
    }


def tags_record(tags: Tags) -> dict[str, Any]:
    """Give a document's tags as the wire has them."""
    return {
        "source": tags.source,
        "domain": tags.domain,
        "owner": tags.owner,
        "access_scope": tags.access_scope,
        "node_kind": tags.node_kind,
        "lawful_basis": tags.lawful_basis,
        "region": tags.region,
        "pii": tags.pii,
        "created_at": format_us(tags.created_at_us),
        "expires_at": None if tags.expires_at_us is None else format_us(tags.expires_at_us),
    }


def excerpt(text: str, wanted: Highlighter | None) -> tuple[str, list[list[int]]]:
    """Cut the part of a text where the query's terms stand closest together.

    Parameters
    ----------
    text : str
    wanted : Highlighter or None
        Of the query's terms; None: nothing in the text is to be shown.

    Returns
    -------
    snippet : str
        A substring of ``text`` of at most 320 characters, whole sentences or lines where they
        fit; its beginning when no term stands in it.
    highlights : list of [start, end]
        Byte ranges into the snippet's UTF-8, ascending, disjoint.
    """
    spans = wanted.find(text) if wanted else []
    start, end = _window(text, spans)
    snippet = text[start:end]
    inside = [(s - start, e - start) for s, e in spans if start <= s and e <= end]
    return snippet, _byte_ranges(snippet, inside)


def _window(text: str, spans: list[tuple[int, int]]) -> tuple[int, int]:
    if len(text) > SNIPPET_CHARS:
        return window(text, spans, SNIPPET_CHARS)
    start = len(text) - len(text.lstrip())
    return start, max(start, len(text.rstrip()))


def _byte_ranges(snippet: str, spans: list[tuple[int, int]]) -> list[list[int]]:
    if snippet.isascii():
        return [[start, end] for start, end in spans]
    ranges = []
    chars = n_bytes = 0
    for start, end in spans:
        begin = n_bytes + len(snippet[chars:start].encode())
        n_bytes = begin + len(snippet[start:end].encode())
        chars = end
        ranges.append([begin, n_bytes])
    return ranges
