"""The second look before abstaining: what the graph knows and the words do not say.

A memory may be about somebody whom it does not name ("She keeps it in the cellar", stored with
the entity). The walk goes further than the graph leg's, from more entities, and what leads it to
a passage counts as evidence there: the names on the way, and those of the query that the passage
is linked to, stand for words in the text. Whether that is enough, the same estimator says.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from brain_daemon._ext import ppr
from brain_daemon.index.graph import EntityGraph
from brain_daemon.index.rows import Mask
from brain_daemon.recall import graph
from brain_daemon.recall.fusion import FusedHit
from brain_daemon.recall.graph import GraphRanking
from brain_daemon.recall.ranking import NO_ROWS, Rows
from brain_daemon.text.analyzer import Analyzer

DAMPING = 0.8  # walks five steps on average where the leg walks two
ENTITY_SEEDS = 16  # of those that the best passages name, besides the query's own


def search(
    entity_graph: EntityGraph,
    entities: Sequence[int],
    passages: Rows,
    visible: Mask,
    *,
    n_documents: int,
    depth: int,
    epsilon: float,
) -> GraphRanking:
    """Walk from the query's entities and from those that the best passages name.

    Parameters
    ----------
    entity_graph : EntityGraph
    entities : sequence of int
        Entity indices that the query names.
    passages : ndarray of int32
        Rows, best first; the first few are asked for their entities.
    visible : ndarray of uint8, shape (n,)
    n_documents, depth, epsilon
        As in `graph.search`.
    """
    seeds = dict.fromkeys(entities)
    for row in passages[: graph.PASSAGE_SEEDS].tolist():
        seeds.update(dict.fromkeys(_entities_of(row, entity_graph, visible)))
    return graph.search(
        entity_graph,
        list(seeds)[: len(entities) + ENTITY_SEEDS],
        NO_ROWS,
        visible,
        n_documents=n_documents,
        depth=depth,
        damping=DAMPING,
        epsilon=epsilon,
    )


def add_names(
    present: npt.NDArray[np.bool_],
    hits: Sequence[FusedHit],
    ranking: GraphRanking,
    entities: Sequence[int],
    entity_graph: EntityGraph,
    visible: Mask,
    terms: Sequence[str],
    analyzer: Analyzer,
) -> npt.NDArray[np.bool_]:
    """Let the names that lead to a hit count as its words.

    Parameters
    ----------
    present : ndarray of bool, shape (m, q)
        Which of ``terms`` each hit holds.
    hits : sequence of FusedHit, length m
    ranking : GraphRanking
        Whose ranks and paths the hits have.
    entities : sequence of int
        Entity indices that the query names.
    entity_graph, visible, terms, analyzer

    Returns
    -------
    ndarray of bool, shape (m, q)
        A copy of ``present`` with what the names add.
    """
    held = present.copy()
    position = {term: i for i, term in enumerate(terms)}
    for i, hit in enumerate(hits):
        rank = hit.ranks.get("graph")
        if not rank:
            continue
        leading = {node // 2 for node in ranking.path(rank - 1) if node % 2}
        leading.update(set(entities).intersection(_entities_of(hit.row, entity_graph, visible)))
        for index in leading:
            for term in analyzer.query(entity_graph.key(index)).terms:
                if term in position:
                    held[i, position[term]] = True
    return held


def _entities_of(row: int, entity_graph: EntityGraph, visible: Mask) -> list[int]:
    nodes = ppr.neighbors(entity_graph.graph, 2 * row, visible)[0]
    entities: list[int] = (nodes[nodes % 2 == 1] // 2).tolist()
    return entities
