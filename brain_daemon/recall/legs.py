"""What the legs listed for one query, and what it is worth."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from brain_daemon.recall.confidence import Assessment
from brain_daemon.recall.expansion import NOTHING_FOUND, Expansion
from brain_daemon.recall.fusion import FusedHit
from brain_daemon.recall.graph import GraphRanking
from brain_daemon.recall.query import QueryDoc
from brain_daemon.recall.ranking import Ranking, Rows
from brain_daemon.text.analyzer import QueryTerms

LEGS = ("vector", "lexical", "graph")  # the order in which their ranks are added up


class Legs(Struct, frozen=True):
    """The three rankings of one query, and what they were made from."""

    terms: QueryTerms
    term_ids: npt.NDArray[np.int32]
    asked: tuple[npt.NDArray[np.int8], float]  # the question's embedding and its scale
    vector: Ranking
    lexical: Ranking
    graph: GraphRanking
    feedback: Rows  # the passages that moved the vector leg's query
    linked: tuple[int, ...] = ()  # the entities that the query names
    lengths: tuple[float, ...] = ()  # of the terms' vectors, not normalised
    expansion: Expansion = NOTHING_FOUND  # whether `lexical` is a second pass

    def by_name(self) -> Mapping[str, Ranking]:
        return dict(zip(LEGS, (self.vector, self.lexical, self.graph), strict=True))


class Judged(Struct, frozen=True):
    """The fused hits, what each holds of the query, and what they are worth; all parallel."""

    legs: Legs
    fused: list[FusedHit]
    present: npt.NDArray[np.bool_]  # (hits, terms)
    cosines: list[float]  # with the query as asked
    assessment: Assessment
    names_on_paths: bool = False

    def select(self, query: QueryDoc) -> list[int]:
        """Positions of the hits that may be shown."""
        return self.assessment.at_least(query.min_relevance)
