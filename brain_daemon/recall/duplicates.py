"""One hit for one text: what is stored several times word for word takes one place in an answer.

Every copy stays a memory of its own, to be revised or forgotten alone, and the hit names as its
sources all that the request may see, wherever the legs have them. Texts that differ in anything are
never joined, nor are texts whose tags differ.
"""

from collections.abc import Sequence
from typing import Any

import apsw
from msgspec import Struct
from msgspec.structs import replace

from brain_daemon.index.rows import Ints, Mask, Rows
from brain_daemon.model import StoredChunk
from brain_daemon.store import chunks, copies
from brain_daemon.timestamps import format_us

SPARE = 5  # hits looked at beyond k: they move up where copies were joined
MAX_SOURCES = 50  # of one hit
MAX_ROUNDS = 4  # of looking behind copies that fill the legs' lists


class Group(Struct, frozen=True):
    """The copies of one text: the position of the best of them, and the chunks, that one first."""

    position: int
    chunks: list[StoredChunk]
    n_copies: int  # those that are not listed included


def group(found: Sequence[StoredChunk | None]) -> list[Group]:
    """Join hits of the same text and tags into the best of them.

    Parameters
    ----------
    found : sequence of StoredChunk or None
        Best first; None where a chunk has left meanwhile.
    """
    groups: dict[tuple[Any, ...], tuple[int, list[StoredChunk]]] = {}
    for position, chunk in enumerate(found):
        if chunk is not None:
            groups.setdefault(identity(chunk), (position, []))[1].append(chunk)
    return [Group(position, joined, len(joined)) for position, joined in groups.values()]


def visible_copies(
    groups: Sequence[Group], rows: Rows, visible: Mask, conn: apsw.Connection
) -> dict[int, Ints]:
    """Find the rows of all visible copies.

    Parameters
    ----------
    groups : sequence of Group
    rows : Rows
    visible : ndarray of uint8, shape (n,)
    conn : apsw.Connection
        A reader.

    Returns
    -------
    dict of int to ndarray of int64
        By the hash of each group that has copies anywhere, rows ascending.
    """
    hashes = [group.chunks[0].copy_hash for group in groups]
    shared = {hash_ for hash_ in hashes if hash_ is not None}
    if not shared:
        return {}
    found = {}
    for hash_, chunk_ids in copies.ids(conn, shared).items():
        of_hash = rows.find(chunk_ids)
        of_hash = of_hash[of_hash >= 0]
        found[hash_] = of_hash[visible[of_hash] != 0]
    return found


def complete(
    groups: Sequence[Group], rows: Rows, visible: Mask, conn: apsw.Connection
) -> list[Group]:
    """Let each group list the visible copies that no leg listed, and count those not listed.

    See `visible_copies` for the parameters. After the best, chunks come by id.
    """
    found = visible_copies(groups, rows, visible, conn)
    first = {
        hash_: rows.chunk_id[of_hash[:MAX_SOURCES]].tolist() for hash_, of_hash in found.items()
    }
    wanted = [chunk_id for ids in first.values() for chunk_id in ids]
    stored = {chunk.id: chunk for chunk in chunks.fetch(conn, wanted)}
    completed = []
    for of_group in groups:
        best = of_group.chunks[0]
        hash_ = best.copy_hash
        if hash_ is not None:
            others = [stored[id_] for id_ in first[hash_] if id_ in stored and id_ != best.id]
            same = [chunk for chunk in others if identity(chunk) == identity(best)]
            n_copies = len(found[hash_]) - (len(others) - len(same))
            of_group = replace(of_group, chunks=[best, *same][:MAX_SOURCES], n_copies=n_copies)
        completed.append(of_group)
    return completed


def sources(of_group: Sequence[StoredChunk]) -> list[dict[str, Any]]:
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
        for chunk in of_group
    ]


def identity(chunk: StoredChunk) -> tuple[Any, ...]:
    """Give what copies have in common."""
    return copies.identity(chunk.text, chunk.tags)
