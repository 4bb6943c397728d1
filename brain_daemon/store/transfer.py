"""Whole documents out of a store, with what cannot be derived from their text.

Not here: the encoding of a record, and terms and vectors, which the importer derives anew.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import apsw

from brain_daemon.model import Mention, Relation, StoredChunk
from brain_daemon.store import chunks, documents


class ExportedChunk(NamedTuple):
    chunk: StoredChunk
    mentions: list[Mention]  # in the order in which their entities were first named
    relations: list[Relation]


class ExportedDocument(NamedTuple):
    first_chunk_id: int
    document: documents.StoredDocument
    chunks: list[ExportedChunk]


def iter_documents(conn: apsw.Connection, after: int = 0) -> Iterator[ExportedDocument]:
    """Give every document whose first chunk's id is above ``after``, by that id.

    Storing them in this order gives the chunks of another store the same order of ids, and so
    the same tie-breaks.
    """
    order: list[Any] = conn.execute(
        "SELECT min(id), document_id FROM chunk GROUP BY document_id HAVING min(id) > ? ORDER BY 1",
        (after,),
    ).fetchall()
    for first_chunk_id, document_id in order:
        for document in documents.find(conn, document_id=document_id):
            exported = [_exported(conn, chunk) for chunk in chunks.of_document(conn, document_id)]
            yield ExportedDocument(first_chunk_id, document, exported)


def unheld(conn: apsw.Connection, after: int, limit: int) -> list[ExportedChunk]:
    """Give the next chunks that were never in quarantine, by id, ids above ``after`` only."""
    rows = conn.execute(
        "SELECT id FROM chunk WHERE id > ? AND flag_reason IS NULL ORDER BY id LIMIT ?",
        (after, limit),
    )
    return [_exported(conn, chunk) for chunk in chunks.fetch(conn, [row[0] for row in rows])]


def _exported(conn: apsw.Connection, chunk: StoredChunk) -> ExportedChunk:
    mentions = conn.execute(
        "SELECT name, mention.kind FROM mention JOIN entity ON entity.id = entity_id "
        "WHERE chunk_id = ? ORDER BY entity_id",
        (chunk.id,),
    )
    relations = conn.execute(
        "SELECT source.name, relation, target.name FROM edge "
        "JOIN entity AS source ON source.id = source_id "
        "JOIN entity AS target ON target.id = target_id "
        "WHERE chunk_id = ? ORDER BY source_id, target_id, relation",
        (chunk.id,),
    )
    return ExportedChunk(
        chunk,
        [Mention(*row) for row in mentions],
        [Relation(*row) for row in relations],
    )
