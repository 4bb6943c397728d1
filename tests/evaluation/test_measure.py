"""Figures: by hand, on rankings of which every figure is known."""

from math import log2

import pytest

from brain_daemon.evaluation.measure import measure, names

QRELS = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}}


def test_each_figure_is_the_one_of_its_definition() -> None:
    figures = measure(QRELS, {"q1": ["x", "a", "y", "b"], "q2": ["c"]}, [1, 2])
    ideal = 1 + 1 / log2(3)
    assert figures["nDCG@10"] == pytest.approx(((1 / log2(3) + 1 / log2(5)) / ideal + 1) / 2)
    assert figures["R@1"] == pytest.approx((0 + 1) / 2)
    assert figures["R@2"] == pytest.approx((1 / 2 + 1) / 2)
    assert figures["R@10"] == 1.0
    assert figures["MRR"] == pytest.approx((1 / 2 + 1) / 2)
    assert list(figures) == names([1, 2]) == ["nDCG@10", "R@1", "R@2", "R@10", "MRR"]


def test_a_question_without_a_ranking_counts_zero() -> None:
    assert measure(QRELS, {"q2": ["c"]}, [5])["MRR"] == 0.5
    assert measure(QRELS, {"q1": [], "q2": ["c"]}, [5])["R@5"] == 0.5


def test_the_order_is_that_of_the_list_and_not_of_the_names() -> None:
    qrels = {"q": {"a": 1}}
    assert measure(qrels, {"q": ["a", "b"]}, [5])["MRR"] == 1.0
    assert measure(qrels, {"q": ["b", "a"]}, [5])["MRR"] == 0.5


def test_gains_weigh() -> None:
    qrels = {"q": {"a": 2, "b": 1}}
    best = measure(qrels, {"q": ["a", "b"]}, [5])["nDCG@10"]
    assert best == 1.0 > measure(qrels, {"q": ["b", "a"]}, [5])["nDCG@10"]
