"""The figures of confidence: the curve and the area, against counting by hand."""

import numpy as np

from bench.quality import risk_coverage
from tools.fit_confidence import auroc


def test_risk_falls_out_of_the_order_of_confidence() -> None:
    coverage, risk = risk_coverage(
        np.array([0.9, 0.2, 0.9, 0.5]), np.array([False, True, True, False])
    )
    assert coverage.tolist() == [0.5, 0.75, 1.0]  # the two of 0.9 are answered together
    assert risk.tolist() == [1 / 2, 1 / 3, 2 / 4]


def test_auroc_counts_pairs_and_halves_ties() -> None:
    estimate = np.array([0.9, 0.4, 0.4, 0.1])
    positive = np.array([True, True, False, False])
    assert auroc(estimate, positive) == (2 + 1.5) / 4
    assert auroc(-estimate, positive) == 0.5 / 4
