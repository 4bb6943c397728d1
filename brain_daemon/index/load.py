"""The first snapshot of a process: the whole store, read once in bulk."""

from itertools import islice

import apsw
import numpy as np
import numpy.typing as npt

from brain_daemon._ext.bm25 import Postings
from brain_daemon._ext.vocabulary import Vocabulary
from brain_daemon.errors import StoreDegraded
from brain_daemon.index.graph import EntityGraph, Links, relation_weight
from brain_daemon.index.rows import NO_KIND, Rows
from brain_daemon.index.snapshot import ForwardLists, Snapshot
from brain_daemon.index.vectors import Vectors
from brain_daemon.store import scan

Ids = npt.NDArray[np.int64]
Lengths = npt.NDArray[np.int32]

_BLOCK_CHUNKS = 8192  # forward lists held at one time, and rows in the first segments


def load(conn: apsw.Connection, dim: int, generation: int = 0) -> Snapshot:
    """Mirror the store as one commit left it.

    Parameters
    ----------
    conn : apsw.Connection
        Outside a transaction.
    dim : int
        Dimensions of the stored vectors.
    generation : int
        Number of the snapshot.

    Raises
    ------
    StoreDegraded
        If vectors or terms are not those of exactly the stored chunks, or vectors were zeroed.
    """
    vocabulary = Vocabulary()
    with scan.frozen(conn):
        attributes = scan.attributes(conn)
        vector_ids, matrix, scales = scan.vectors(conn, dim)
        _require_same(attributes.chunk_ids, vector_ids, "vectors")
        if not np.array_equal(scales != 0.0, matrix.any(axis=1)):
            raise StoreDegraded(
                "the store's vectors are damaged: restore a backup with `brain restore`"
            )
        postings, lengths = _read_terms(conn, vocabulary, attributes.chunk_ids)
        rows = _rows(attributes, lengths)
        graph = _read_graph(conn, rows, attributes.previous_ids)
    return Snapshot(
        rows=rows,
        vectors=Vectors.empty(dim).append(matrix, scales),
        vocabulary=vocabulary,
        postings=postings,
        graph=graph,
        generation=generation,
    )


def _rows(attributes: scan.Attributes, lengths: Lengths) -> Rows:
    rows = Rows.empty()
    labels = {
        name: np.array(
            [rows.labels.intern(value or NO_KIND) for value in attributes.values[name]], np.int32
        )[attributes.codes[name]]
        for name in ("domain", "owner", "access_scope", "source", "node_kind")
    }
    return rows.append_columns(
        chunk_id=attributes.chunk_ids,
        created_at_us=attributes.created_at_us,
        expires_at_us=attributes.expires_at_us,
        length=lengths,
        flagged=attributes.flagged,
        **labels,
    )


def _read_terms(
    conn: apsw.Connection, vocabulary: Vocabulary, chunk_ids: Ids
) -> tuple[Postings, Lengths]:
    postings = Postings()
    lengths = np.zeros(len(chunk_ids), np.int32)
    indexed = np.zeros(len(chunk_ids), np.int64)
    stored = scan.terms(conn)
    n_read = 0
    while block := list(islice(stored, _BLOCK_CHUNKS)):
        if n_read + len(block) > len(chunk_ids):
            break
        lists = ForwardLists(vocabulary, n_read)
        for chunk_id, terms in block:
            indexed[n_read] = chunk_id
            lengths[n_read] = lists.add(terms or b"")
            n_read += 1
        postings = lists.append_to(postings)
    _require_same(chunk_ids, indexed, "terms")
    return postings, lengths


def _read_graph(conn: apsw.Connection, rows: Rows, previous_ids: Ids) -> EntityGraph:
    graph = EntityGraph.empty()
    named = scan.entities(conn)
    while block := list(islice(named, _BLOCK_CHUNKS)):
        graph = graph.add_entities([(entity_id, key) for entity_id, key, _ in block])
    chunk_ids, entity_ids = scan.mentions(conn)
    source_ids, target_ids, evidence_ids, relations = scan.edges(conn)
    following = np.flatnonzero(previous_ids)
    links = Links.join(
        [
            Links.mentions(rows.find(chunk_ids), graph.indices(entity_ids)),
            Links.relations(
                graph.indices(source_ids),
                graph.indices(target_ids),
                [relation_weight(relation) for relation in relations],
                rows.find(evidence_ids),
            ),
            Links.sequence(following, rows.find(previous_ids[following])),
        ]
    )
    return graph.link(links, rows.alive)


def _require_same(chunk_ids: Ids, indexed: Ids, what: str) -> None:
    if not np.array_equal(chunk_ids, indexed):
        raise StoreDegraded(
            f"the store's {what} do not match its chunks; run `brain doctor` and `brain reindex`"
        )
