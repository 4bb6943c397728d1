"""Rankings to figures, by ``ir-measures`` (the ``eval`` extra)."""

from collections.abc import Mapping, Sequence

import ir_measures
from ir_measures import RR, R, nDCG

PRIMARY = ("nDCG@10", "R@10")  # what the fusion is held to
DEPTH = 100  # of the rankings that are measured

Figures = dict[str, float]


def names(cutoffs: Sequence[int]) -> list[str]:
    """The measures in the order of the table; recall at each cut-off."""
    wanted = sorted({*cutoffs, 10})
    return ["nDCG@10", *(f"R@{cutoff}" for cutoff in wanted), "MRR"]


def measure(
    qrels: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Sequence[str]],
    cutoffs: Sequence[int],
) -> Figures:
    """Average the measures over all judged questions; one without a ranking counts 0.

    Parameters
    ----------
    qrels : mapping
        Question to document to gain.
    rankings : mapping
        Question to ids of documents, best first.
    cutoffs : sequence of int
        Of recall.
    """
    measures = {name: _measure(name) for name in names(cutoffs)}
    # trec_eval orders by score, and equal scores by name: so no two scores are equal.
    run = {
        query: {document: -float(rank) for rank, document in enumerate(ranking)}
        for query, ranking in rankings.items()
    }
    found = ir_measures.calc_aggregate(measures.values(), qrels, run)
    return {name: float(found[measure]) for name, measure in measures.items()}


def _measure(name: str) -> ir_measures.Measure:
    if name == "MRR":
        return RR
    kind, _, cutoff = name.partition("@")
    return (nDCG if kind == "nDCG" else R) @ int(cutoff)
