"""One hit for one text: what is stored several times word for word takes one place in an answer.

Every copy stays a memory of its own, to be revised or forgotten alone, and the hit names as its
sources those that were found with it. Texts that differ in anything are never joined, nor are
texts whose tags differ.
"""

from collections.abc import Sequence
from typing import Any

from brain_daemon.model import StoredChunk
from brain_daemon.timestamps import format_us

SPARE = 5  # hits looked at beyond k: they move up where copies were joined


def group(chunks: Sequence[StoredChunk | None]) -> list[tuple[int, list[StoredChunk]]]:
    """Join hits of the same text and tags into the best of them.

    Parameters
    ----------
    chunks : sequence of StoredChunk or None
        Best first; None where a chunk has left meanwhile.

    Returns
    -------
    list of (int, list of StoredChunk)
        The position of the best of each group, and all its chunks in the order given.
    """
    groups: dict[tuple[Any, ...], tuple[int, list[StoredChunk]]] = {}
    for position, chunk in enumerate(chunks):
        if chunk is not None:
            groups.setdefault(identity(chunk), (position, []))[1].append(chunk)
    return list(groups.values())


def sources(copies: Sequence[StoredChunk]) -> list[dict[str, Any]]:
    """Name the memories that hold a text, as the wire has them."""
    return [
        {
            "id": chunk.id,
            "document_id": chunk.document_id,
            "uri": chunk.uri,
            "title": chunk.title,
            "heading_path": list(chunk.heading_path),
            "source": chunk.tags.source,
            "owner": chunk.tags.owner,
            "created_at": format_us(chunk.tags.created_at_us),
        }
        for chunk in copies
    ]


def identity(chunk: StoredChunk) -> tuple[Any, ...]:
    """Give what copies have in common: the text, and the tags that say what may be done with it."""
    tags = chunk.tags
    return (
        chunk.text,
        tags.domain,
        tags.access_scope,
        tags.pii,
        tags.node_kind,
        tags.lawful_basis,
        tags.region,
    )
