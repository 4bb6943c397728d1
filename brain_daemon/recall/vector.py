"""The vector leg: nearest rows by cosine, exact on small stores, through sign bits on large.

The query's embedding is first moved towards the best lexical passages: a static model is weakest
on rare words, which is where the lexical leg is strongest. On the tuning collections this lifts
the leg by 0.02 to 0.09 nDCG@10, and keeps the fusion from falling below its best leg.

References
----------
Rocchio, "Relevance feedback in information retrieval", 1971.
"""

import numpy as np
import numpy.typing as npt

from brain_daemon._ext import distance
from brain_daemon.index.rows import Mask
from brain_daemon.index.vectors import Vectors
from brain_daemon.recall.ranking import Ranking

FEEDBACK_PASSAGES = 3

Embedding = npt.NDArray[np.float32]


def add_feedback(
    query: Embedding, vectors: Vectors, rows: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int8], float]:
    """Add the mean of passages, weighted by 1 / rank, to a query, and quantize the sum.

    Parameters
    ----------
    query : ndarray of float32, shape (dim,)
        Of unit length.
    vectors : Vectors
    rows : ndarray of int32
        The passages, best first; without any the query stays as it is.

    Returns
    -------
    vector : ndarray of int8, shape (dim,)
    scale : float
        ``vector * scale`` is of unit length.
    """
    if not len(rows):
        return distance.quantize_int8(query)
    shares = 1.0 / np.arange(1, len(rows) + 1, dtype=np.float32)
    return distance.add_rows(query, vectors.matrix, vectors.scales, rows, shares)


def search(
    vectors: Vectors,
    query: npt.NDArray[np.int8],
    scale: float,
    visible: Mask,
    *,
    depth: int,
    exact_rows: int,
    candidates: int,
) -> Ranking:
    """List the visible rows that point the way of the query.

    Parameters
    ----------
    vectors : Vectors
    query : ndarray of int8, shape (dim,)
    scale : float
        Of the query.
    visible : ndarray of uint8, shape (n,)
    depth : int
        Most rows to list.
    exact_rows : int
        Up to so many rows every one is scored; above, the best ``candidates`` by sign bits are.

    Returns
    -------
    Ranking
        Scores are cosines, all above 0: what does not point the query's way is no neighbour.
    """
    if len(vectors.scales) <= exact_rows:
        rows, cosines = distance.topk_int8(
            vectors.matrix, vectors.scales, query, scale, depth, visible
        )
    else:
        rows, cosines = distance.topk_bits(
            vectors.bits,
            vectors.matrix,
            vectors.scales,
            query,
            scale,
            depth,
            max(candidates, depth),
            visible,
        )
    n_listed = int(np.count_nonzero(cosines > 0.0))
    return Ranking(rows[:n_listed], cosines[:n_listed])
