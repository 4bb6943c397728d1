"""Whole documents out of a store and into another: everything that recall depends on.

Not here: the encoding of a record in a file, and whether model and analyser of the two stores are
the same (if not, the importer derives vectors and terms anew).
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import apsw
import numpy as np

from brain_daemon.model import (
    Mention,
    PreparedChunk,
    PreparedDocument,
    Relation,
    StoredChunk,
    Tags,
    Terms,
)
from brain_daemon.store import chunks, documents


def iter_documents(conn: apsw.Connection) -> Iterator[dict[str, Any]]:
    """Give every document as a record of plain values (``bytes`` for hash and vectors).

    In the order of their chunk ids, so that storing them in this order keeps every tie-break. Run
    it inside a read transaction (`scan.frozen`) on a connection that does nothing else meanwhile.
    """
    order = conn.execute("SELECT document_id FROM chunk GROUP BY 1 ORDER BY min(id)").fetchall()
    for (document_id,) in order:
        (document,) = documents.find(conn, document_id=document_id)  # type: ignore[arg-type]
        yield {
            "uri": document.uri,
            "title": document.title,
            "revision": document.revision,
            "content_hash": document.content_hash,
            "tags": asdict(document.tags),
            "writer": document.writer,
            "stored_at_us": document.stored_at_us,
            "chunks": [_record(conn, c) for c in chunks.of_document(conn, document.id)],
        }


def from_export(record: Mapping[str, Any]) -> PreparedDocument:
    """Make the document of a record again, with its stored vectors and terms.

    Store it with `documents.put`, passing on the record's ``writer``, ``stored_at_us`` and
    ``revision``.

    Raises
    ------
    KeyError, TypeError, ValueError
        The record is not one that `iter_documents` gives.
    """
    return PreparedDocument(
        uri=record["uri"],
        title=record["title"],
        content_hash=record["content_hash"],
        tags=Tags(**record["tags"]),
        chunks=tuple(
            PreparedChunk(
                text=chunk["text"],
                heading_path=tuple(chunk["heading_path"]),
                line_start=chunk["line_start"],
                line_end=chunk["line_end"],
                terms=Terms(**chunk["terms"]),
                vector=np.frombuffer(chunk["vector"], dtype=np.int8),
                scale=chunk["scale"],
                mentions=tuple(Mention(**mention) for mention in chunk["mentions"]),
                relations=tuple(Relation(**relation) for relation in chunk["relations"]),
            )
            for chunk in record["chunks"]
        ),
    )


def _record(conn: apsw.Connection, chunk: StoredChunk) -> dict[str, Any]:
    where = (chunk.id,)
    title, body, extra = conn.execute(
        "SELECT title, body, extra FROM chunk_fts WHERE rowid = ?", where
    ).get
    vector, scale = conn.execute(
        "SELECT embedding, scale FROM chunk_vec WHERE rowid = ?", where
    ).get
    mentions = conn.execute(
        "SELECT name, mention.kind FROM mention JOIN entity ON entity.id = entity_id "
        "WHERE chunk_id = ? ORDER BY entity_id",
        where,
    )
    relations = conn.execute(
        "SELECT source.name, relation, target.name FROM edge "
        "JOIN entity AS source ON source.id = source_id "
        "JOIN entity AS target ON target.id = target_id "
        "WHERE chunk_id = ? ORDER BY source_id, target_id, relation",
        where,
    )
    return {
        "text": chunk.text,
        "heading_path": list(chunk.heading_path),
        "line_start": chunk.line_start,
        "line_end": chunk.line_end,
        "terms": {"title": title, "body": body, "extra": extra},
        "vector": vector,
        "scale": scale,
        "mentions": [{"name": name, "kind": kind} for name, kind in mentions],
        "relations": [
            {"subject": subject, "relation": relation, "object": object_}
            for subject, relation, object_ in relations
        ],
    }
