"""Reciprocal rank fusion against plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_daemon._ext.rrf import fuse


def plain(rankings, k, rrf_k):
    scores: dict[int, float] = {}
    ranks: dict[int, list[int]] = {}
    for leg, ranking in enumerate(rankings):
        for rank, row in enumerate(ranking, 1):
            scores[row] = scores.get(row, 0.0) + 1 / (rrf_k + rank)
            ranks.setdefault(row, [0] * len(rankings))[leg] = rank
    hits = sorted(scores, key=lambda row: (-scores[row], row))[:k]
    return hits, [scores[row] for row in hits], [ranks[row] for row in hits]


def arrays(rankings):
    legs = [np.array(ranking, np.int32) for ranking in rankings]
    for leg in legs:
        leg.flags.writeable = False
    return legs


rows = st.integers(0, 30) | st.integers(0, 2**31 - 1)


@given(
    st.lists(st.lists(rows, max_size=40, unique=True), max_size=5),
    st.integers(1, 50),
    st.sampled_from([0, 1, 60, 60.5]),
)
def test_fuse_is_the_formula(rankings, k, rrf_k):
    found = fuse(arrays(rankings), k, rrf_k)
    hits, scores, ranks = plain(rankings, k, rrf_k)
    assert [part.dtype for part in found] == [np.int32, np.float64, np.int32]
    assert found[0].tolist() == hits
    assert found[1].tolist() == scores
    assert found[2].shape == (len(hits), len(rankings))
    assert found[2].tolist() == ranks


def test_rank_starts_at_one_and_an_absent_leg_is_no_rank():
    hits, scores, ranks = fuse(arrays([[7, 8], [], [8]]), 10)
    assert hits.tolist() == [8, 7]
    assert scores.tolist() == [1 / 62 + 1 / 61, 1 / 61]
    assert ranks.tolist() == [[2, 0, 1], [1, 0, 0]]


def test_ties_ascend_by_row():
    assert fuse(arrays([[9, 3], [3, 9], [4], [2]]), 10)[0].tolist() == [3, 9, 2, 4]
    assert fuse(arrays([[row] for row in range(50, 0, -1)]), 3)[0].tolist() == [1, 2, 3]


def test_nothing_to_fuse():
    for rankings in ([], [[]], [[], []]):
        hits, scores, ranks = fuse(arrays(rankings), 5)
        assert hits.shape == scores.shape == (0,)
        assert ranks.shape == (0, len(rankings))


@pytest.mark.parametrize("k", [1, 100, 10**9])
def test_k_may_exceed_what_is_listed(k):
    rng = np.random.default_rng(0)
    rankings = [rng.permutation(500)[:300].astype(np.int32) for _ in range(3)]
    found = fuse(rankings, k)
    assert found[0].tolist() == plain([leg.tolist() for leg in rankings], k, 60)[0]


def test_wrong_arguments_are_refused():
    for k in (0, -1):
        with pytest.raises(ValueError, match=f"k is {k}"):
            fuse(arrays([[1]]), k)
    for rrf_k in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="rrf_k"):
            fuse(arrays([[1]]), 1, rrf_k)
    with pytest.raises(ValueError, match="leg 1 lists row 5 at rank 3"):
        fuse(arrays([[5], [5, 6, 5]]), 9)
    with pytest.raises(ValueError, match="leg 0 lists row -1 at rank 2"):
        fuse(arrays([[5, -1]]), 9)
    with pytest.raises(ValueError, match="dtype"):
        fuse([np.array([1], np.int64)], 1)
