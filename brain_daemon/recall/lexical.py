"""The lexical leg: BM25 over the resident postings, with FTS5's own formula."""

import numpy as np
import numpy.typing as npt

from brain_daemon._ext import bm25
from brain_daemon.index.rows import Mask
from brain_daemon.index.snapshot import Snapshot
from brain_daemon.recall.ranking import Ranking

# Rank fusion sees ranks alone: without a floor, what shares a common word with the query stands
# right behind the one passage that holds its rare ones, and one more leg lifts it above.
FLOOR = 0.3


def search(
    snapshot: Snapshot,
    term_ids: npt.NDArray[np.int32],
    visible: Mask,
    *,
    depth: int,
    floor: float = FLOOR,
    weights: npt.NDArray[np.float64] | None = None,
) -> Ranking:
    """List the visible rows that hold any of the terms.

    Parameters
    ----------
    snapshot : Snapshot
    term_ids : ndarray of int32, shape (q,)
        From ``snapshot.vocabulary.lookup``; -1: no chunk ever held the term.
    visible : ndarray of uint8, shape (n,)
    depth : int
        Most rows to list.
    floor : float
        Share of the best score below which a row is not listed.
    weights : ndarray of float64, shape (q,), optional
        What each term's share of a score is multiplied by.

    Returns
    -------
    Ranking
        Scores are those of FTS5's ``bm25()``, negated.
    """
    if not len(term_ids):
        return Ranking(skipped="no searchable words in q")
    rows = snapshot.rows
    listed, scores = bm25.topk_bm25(
        snapshot.postings,
        term_ids,
        rows.length,
        rows.alive,
        visible,
        rows.n_alive,
        rows.average_length,
        depth,
        weights=weights,
    )
    n_listed = int(np.count_nonzero(scores >= floor * scores[0])) if len(scores) else 0
    return Ranking(listed[:n_listed], scores[:n_listed])
