"""Reciprocal rank fusion: the one score of a hit, which a person can recompute from the ranks.

``score = sum over legs of 1 / (60 + rank)``, ranks from 1, legs that did not list a row adding
nothing.

References
----------
Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet", SIGIR 2009.
"""

from collections.abc import Mapping
from typing import NamedTuple

from brain_daemon._ext import rrf
from brain_daemon.recall.ranking import Ranking

RRF_K = 60


class FusedHit(NamedTuple):
    """A row, its fused score, and its rank in each leg that listed it."""

    row: int
    score: float
    ranks: dict[str, int]


def fuse(legs: Mapping[str, Ranking], k: int) -> list[FusedHit]:
    """Give the best k rows over all legs; ties by row ascending."""
    rows, scores, ranks = rrf.fuse([leg.rows for leg in legs.values()], k, RRF_K)
    names = tuple(legs)
    return [
        FusedHit(row, score, {name: rank for name, rank in zip(names, of_row, strict=True) if rank})
        for row, score, of_row in zip(rows.tolist(), scores.tolist(), ranks.tolist(), strict=True)
    ]
