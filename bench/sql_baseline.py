"""The same three-leg answer by SQL: vec0 for the vector leg, FTS5 for the lexical one.

Written to be fast: stop words dropped, ``bm25()`` with a LIMIT instead of the hidden ``rank``
column (which sorts every match), fixed statement texts, a page cache that holds the file, mmap.
Query embedding and its feedback, graph leg (our own kernel on our own graph), fusion and the
fetch of the final hits are the product's, so that the ratio is about vec0 and FTS5 alone. In its
favour: no visibility, no snippets, no provenance, no socket; and vec0's L2 distance, which is
cheaper than cosine.
"""

from pathlib import Path

import numpy as np

from brain_daemon.embedding.model import StaticModel
from brain_daemon.index import load as index_load
from brain_daemon.model import StoredChunk
from brain_daemon.recall import fusion, graph, vector
from brain_daemon.recall.ranking import Ranking
from brain_daemon.store import chunks, connection, fulltext
from brain_daemon.text.analyzer import Analyzer
from brain_daemon.text.stopwords import STOP_WORDS

DEPTH = 100
CACHE_KIB = 1 << 20
MMAP_BYTES = 4 << 30

NEAREST = (
    "SELECT rowid, distance FROM chunk_vec WHERE embedding MATCH vec_int8(?) AND k = ? "
    "ORDER BY distance"
)
WORDED = (
    "SELECT rowid, bm25(chunk_fts) AS score FROM chunk_fts WHERE chunk_fts MATCH ? "
    "ORDER BY score LIMIT ?"
)


class SqlRecall:
    """Answers from a store's own file, opened beside the running daemon."""

    def __init__(self, database: Path) -> None:
        self._conn = connection.open_reader(database)
        self._conn.pragma("cache_size", -CACHE_KIB)
        self._conn.pragma("mmap_size", MMAP_BYTES)
        self._analyzer = Analyzer()
        self._model = StaticModel.load()
        self._snapshot = index_load.load(self._conn, self._model.dim)
        self._mask = np.ones(self._snapshot.n_rows, np.uint8)

    def close(self) -> None:
        self._conn.close()

    def answer(self, q: str, k: int = 5) -> list[StoredChunk]:
        """Give the best k chunks."""
        expression = fulltext.match_any(self._analyzer.query(q).terms)
        worded = self._ranking(WORDED, expression) if expression else Ranking()
        near = Ranking()
        embedding = self._model.embed(q)
        if embedding.any():
            feedback = worded.rows[: vector.FEEDBACK_PASSAGES]
            query, _ = vector.add_feedback(embedding, self._snapshot.vectors, feedback)
            near = self._ranking(NEAREST, query.tobytes())
        index = self._snapshot.graph
        linked = graph.search(
            index,
            graph.link_entities(index, q, self._mask, STOP_WORDS["english"]),
            worded.rows if len(worded.rows) else near.rows,
            self._mask,
            n_documents=self._snapshot.n_alive,
            depth=DEPTH,
            damping=0.5,
            epsilon=1e-5,
        )
        fused = fusion.fuse({"vector": near, "lexical": worded, "graph": linked}, k)
        ids = self._snapshot.rows.chunk_id[[hit.row for hit in fused]].tolist() if fused else []
        return chunks.fetch(self._conn, ids)

    def _ranking(self, statement: str, value: bytes | str) -> Ranking:
        found = list(self._conn.execute(statement, (value, DEPTH)))
        rows = self._snapshot.rows.find([chunk_id for chunk_id, _ in found])
        return Ranking(rows.astype(np.int32), np.array([score for _, score in found], np.float64))
