import numpy as np

from brain_daemon.recall.fusion import fuse
from brain_daemon.recall.ranking import Ranking


def ranking(*rows: int) -> Ranking:
    return Ranking(np.array(rows, np.int32), np.ones(len(rows)))


def test_scores_can_be_recomputed_from_the_ranks() -> None:
    legs = {"vector": ranking(4, 2, 7), "lexical": ranking(2, 9), "graph": ranking()}
    hits = fuse(legs, 10)
    assert [hit.row for hit in hits] == [2, 4, 9, 7]
    assert hits[0].ranks == {"vector": 2, "lexical": 1}
    for hit in hits:
        assert hit.score == sum(1 / (60 + rank) for rank in hit.ranks.values())


def test_ties_go_to_the_lower_row_and_k_cuts_last() -> None:
    assert [hit.row for hit in fuse({"a": ranking(8, 1), "b": ranking(3)}, 2)] == [3, 8]


def test_a_leg_that_did_not_run_adds_nothing() -> None:
    legs = {"vector": ranking(5), "lexical": Ranking(skipped="no searchable words in q")}
    assert fuse(legs, 5)[0].score == 1 / 61
