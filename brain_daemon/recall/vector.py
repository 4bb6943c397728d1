"""The vector leg: nearest rows by cosine, exact on small stores, through sign bits on large."""

import numpy as np
import numpy.typing as npt

from brain_daemon._ext import distance
from brain_daemon.index.rows import Mask
from brain_daemon.index.vectors import Vectors
from brain_daemon.recall.ranking import Ranking


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
        Of the query; 0 when its text has no direction.
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
    if scale == 0.0:
        return Ranking(skipped="the query has no known tokens")
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
