"""Pseudo-relevance feedback for the lexical leg: a second pass with words of what was found first.

It fires only where two retrievers that share nothing agree: the best hit of the first pass must
stand near the top of the lexical list, and of the vector list by its cosine with the question as
asked (the vector leg's own order has lexical feedback in it, and would nearly always agree). Else
the second pass would amplify a mistake: without the gate Cranfield and SciFact gain nothing.

The list of the second pass takes the place of the first one's in the fusion. As one more leg it
would count the lexical evidence twice, which cost multi-hop questions 0.01 nDCG@10.

References
----------
Lavrenko and Croft, "Relevance-based language models", SIGIR 2001. Abdul-Jaleel et al., "UMass at
TREC 2004: Novelty and HARD" (RM3).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from math import log
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from brain_daemon._ext import bm25, distance
from brain_daemon.index.rows import Mask
from brain_daemon.index.snapshot import Snapshot
from brain_daemon.recall import lexical
from brain_daemon.recall.fusion import FusedHit
from brain_daemon.recall.ranking import NO_ROWS, Ranking, Rows
from brain_daemon.store import fulltext
from brain_daemon.text.analyzer import Analyzer
from brain_daemon.text.stopwords import STOP_WORDS

GATE_RANK = 3  # the best hit's worst rank in the vector and in the lexical list
PASSAGES = 2
MAX_TERMS = 5
QUERY_WEIGHT = 3.0  # of a term of the query, against 1 of one of the expansion
MAX_SHARE = 0.1  # of all chunks: a term in more of them tells nothing
MIN_CHUNKS = 2  # a term in fewer finds nothing new
MIN_CHARS = 2


class Expansion(Struct, frozen=True):
    """Whether there was a second pass and why, its terms with their weights, and what it listed.

    ``first`` is the lexical list that it replaced.
    """

    reason: str
    terms: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    term_ids: npt.NDArray[np.int32] | None = None
    feedback: Rows = NO_ROWS
    first: Ranking | None = None

    @property
    def fired(self) -> bool:
        return bool(self.terms)

    def report(self, snapshot: Snapshot) -> dict[str, Any]:
        """Describe it in the answer."""
        return {
            "fired": self.fired,
            "reason": self.reason,
            "terms": [
                {"term": term, "weight": weight}
                for term, weight in zip(self.terms, self.weights, strict=True)
            ],
            "feedback": snapshot.rows.chunk_id[self.feedback].tolist(),
        }

    def evidence(self, rows: list[int], snapshot: Snapshot) -> list[dict[str, Any] | None]:
        """Say what it did to hits: where each stood before, and the terms that it holds."""
        if self.first is None or self.term_ids is None:
            return [None] * len(rows)
        places = {row: place for place, row in enumerate(self.first.rows.tolist())}
        held = bm25.term_frequencies(snapshot.postings, self.term_ids, np.array(rows, np.int32))
        result: list[dict[str, Any] | None] = []
        for row, counts in zip(rows, held.tolist(), strict=True):
            place = places.get(row)
            result.append(
                {
                    "rank": None if place is None else place + 1,
                    "bm25": None if place is None else float(self.first.scores[place]),
                    "terms": [term for term, n in zip(self.terms, counts, strict=True) if n],
                }
            )
        return result


NOTHING_FOUND = Expansion("nothing was found")


def expand(
    fused: Sequence[FusedHit],
    vector: Ranking,
    first: Ranking,
    query_terms: Sequence[str],
    query_ids: npt.NDArray[np.int32],
    asked: tuple[npt.NDArray[np.int8], float],
    *,
    snapshot: Snapshot,
    conn: apsw.Connection,
    analyzer: Analyzer,
    visible: Mask,
    depth: int,
    floor: float,
) -> tuple[Expansion, Ranking]:
    """Search once more with the rarest words of the best hits.

    Parameters
    ----------
    fused : sequence of FusedHit
        The best hits of the first pass, at most `PASSAGES`, all of them visible.
    vector, first : Ranking
        The vector and the lexical list.
    query_terms : sequence of str
    query_ids : ndarray of int32, shape (len(query_terms),)
    asked : (ndarray of int8, shape (dim,), float)
        The question's embedding, quantized, and its scale.
    snapshot : Snapshot
    conn : apsw.Connection
        A reader, for the terms of the hits.
    analyzer : Analyzer
    visible : ndarray of uint8, shape (n,)
    depth : int
        Most rows to list.
    floor : float
        As in the first pass.

    Returns
    -------
    expansion : Expansion
    lexical : Ranking
        The second pass, or ``first`` if the gate stayed shut.
    """
    if not fused:
        return NOTHING_FOUND, first
    ranks = {
        "lexical": fused[0].ranks.get("lexical"),
        "vector": _plain_rank(fused[0], vector, asked, snapshot),
    }
    for leg, rank in ranks.items():
        if rank is None:
            return Expansion(f"the best hit is not in the {leg} list"), first
        if rank > GATE_RANK:
            return Expansion(f"the best hit is only #{rank} of the {leg} list"), first
    feedback = [hit for hit in fused if {"vector", "lexical"} <= hit.ranks.keys()]
    rows = np.array([hit.row for hit in feedback], np.int32)
    said = fulltext.terms(conn, snapshot.rows.chunk_id[rows].tolist())
    weights = _weigh(
        [(hit.score, said.get(int(snapshot.rows.chunk_id[hit.row]), [])) for hit in feedback],
        _stop_terms(analyzer).union(query_terms),
        snapshot,
    )
    if not weights:
        return Expansion("the best hits have no word beside the query's that others have"), first
    ids = snapshot.vocabulary.lookup(" ".join(weights).encode())
    second = lexical.search(
        snapshot,
        np.concatenate([query_ids, ids]),
        visible,
        depth=depth,
        floor=floor,
        weights=np.repeat([QUERY_WEIGHT, 1.0], [len(query_ids), len(ids)]),
    )
    reason = (
        f"the best hit is #{ranks['vector']} of the vector list and #{ranks['lexical']} of the "
        "lexical one"
    )
    return Expansion(reason, tuple(weights), tuple(weights.values()), ids, rows, first), second


def _plain_rank(
    hit: FusedHit,
    vector: Ranking,
    asked: tuple[npt.NDArray[np.int8], float],
    snapshot: Snapshot,
) -> int | None:
    """Rank of a hit among the vector list by the cosine with the question as asked."""
    if "vector" not in hit.ranks:
        return None
    cosines = distance.score_rows(
        snapshot.vectors.matrix,
        snapshot.vectors.scales,
        *asked,
        vector.rows,
    )
    return 1 + int(np.count_nonzero(cosines > cosines[hit.ranks["vector"] - 1]))


@cache
def _stop_terms(analyzer: Analyzer) -> frozenset[str]:
    words = STOP_WORDS.get(analyzer.language, frozenset())
    return frozenset(analyzer.index("", " ".join(words)).body.split())


def _weigh(
    passages: Sequence[tuple[float, list[str]]], known: frozenset[str], snapshot: Snapshot
) -> Mapping[str, float]:
    """Weigh the terms of passages by share and idf; the best `MAX_TERMS`, ties by the term."""
    shares: dict[str, float] = {}
    for score, of_passage in passages:
        share = score / (len(of_passage) or 1)
        for term in of_passage:
            shares[term] = shares.get(term, 0.0) + share
    fitting = [term for term in shares if len(term) >= MIN_CHARS and term not in known]
    ids = snapshot.vocabulary.lookup(" ".join(fitting).encode())
    counts = bm25.document_frequencies(snapshot.postings, ids, snapshot.rows.alive).tolist()
    n_chunks = snapshot.n_alive
    most = MAX_SHARE * n_chunks
    weights = {
        term: shares[term] * log(n_chunks / count)
        for term, count in zip(fitting, counts, strict=True)
        if MIN_CHUNKS <= count <= most
    }
    if not weights:
        return {}
    least = sorted(weights.values(), reverse=True)[:MAX_TERMS][-1]
    best = [(-weight, term) for term, weight in weights.items() if weight >= least]
    return {term: -weight for weight, term in sorted(best)[:MAX_TERMS]}
