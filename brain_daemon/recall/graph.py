"""The graph leg: Personalized PageRank over passages and entities, and how it is seeded.

Seeds are the entities that the query names and the best lexical passages, or the best vector
passages where no word was found. Entities alone would ruin collections in which they are hubs
(the speakers of a conversation): an entity's mass falls with the passages that it touches, and
passages carry mass of their own.

References
----------
Gutiérrez et al., "From RAG to Memory" (HippoRAG 2), 2025. Andersen, Chung and Lang, "Local graph
partitioning using PageRank vectors", 2006.
"""

from collections.abc import Collection
from math import log1p, sqrt

import numpy as np
import numpy.typing as npt

from brain_daemon._ext import ppr
from brain_daemon.index.graph import EntityGraph
from brain_daemon.index.rows import Mask
from brain_daemon.recall.ranking import Ranking
from brain_daemon.text.names import entity_key

MAX_NAME_WORDS = 5
MAX_LINKED_WORDS = 64  # of the query; what comes later is not linked
PASSAGE_SEEDS = 3
MAX_PUSHES = 20_000

_NO_PATHS = np.zeros(1, np.int32)


class GraphRanking(Ranking, frozen=True):
    """A ranking, the entities that seeded it, and for each row the nodes that led to it."""

    entities: tuple[int, ...] = ()
    path_indptr: npt.NDArray[np.int32] = _NO_PATHS
    path_nodes: npt.NDArray[np.int32] = _NO_PATHS[:0]

    def path(self, position: int) -> list[int]:
        """Nodes from a seed to the row at ``position``, both included."""
        start, end = self.path_indptr[position : position + 2].tolist()
        return self.path_nodes[start:end].tolist()


def search(
    graph: EntityGraph,
    entities: list[int],
    passages: npt.NDArray[np.int32],
    visible: Mask,
    *,
    n_documents: int,
    depth: int,
    damping: float,
    epsilon: float,
) -> GraphRanking:
    """List the visible passages that the seeds lead to.

    Parameters
    ----------
    graph : EntityGraph
    entities : list of int
        Entity indices that the query names, each of them with visible evidence.
    passages : ndarray of int32
        Rows, best first; the first three are seeds, weighted by 1 / rank.
    visible : ndarray of uint8, shape (n,)
    n_documents : int
        Living passages, for the rarity of an entity.
    depth : int
        Most rows to list.
    damping, epsilon : float
        Of PageRank (the share that walks on), and the residual at which the push stops.
    """
    nodes = [2 * index + 1 for index in entities]
    degrees = [max(1, degree) for degree in graph.degree[entities].tolist()] if entities else []
    weights = [log1p(n_documents / degree) / sqrt(degree) for degree in degrees]
    best = passages[:PASSAGE_SEEDS].tolist()
    nodes += [2 * row for row in best]
    weights += [1.0 / rank for rank in range(1, len(best) + 1)]
    if not nodes:
        return GraphRanking(skipped="no seeds: the query names no entity and no passage was found")
    rows, scores, path_indptr, path_nodes = ppr.topk_ppr(
        graph.graph,
        np.array(nodes, np.int32),
        np.array(weights, np.float64),
        graph.factors,
        visible,
        damping,
        epsilon,
        depth,
        MAX_PUSHES,
    )
    return GraphRanking(rows, scores, None, False, tuple(entities), path_indptr, path_nodes)


def link_entities(
    graph: EntityGraph, q: str, visible: Mask | None, stop_words: Collection[str] = ()
) -> list[int]:
    """Find the entities that a query names, the longest names first.

    Parameters
    ----------
    graph : EntityGraph
    q : str
        The query; runs of up to five of its words are looked up as names.
    visible : ndarray of uint8, shape (n,), or None
        An entity without visible evidence is not linked, nor told of. None: all that lives is
        visible.
    stop_words : collection of str
        Words that are no name when they stand alone.

    Returns
    -------
    list of int
        Distinct entity indices; a word belongs to one name at most.
    """
    names = _candidate_names(q, stop_words)
    if not names or not len(graph.keys):
        return []
    found = graph.lookup([key for key, _, _ in names])
    n_entities = len(graph.entity_id)
    linked: dict[int, None] = {}
    taken: set[int] = set()
    for position in np.flatnonzero((found >= 0) & (found < n_entities)).tolist():
        _, start, end = names[position]
        words = range(start, end)
        if taken.isdisjoint(words):
            index = int(found[position])
            if graph.degree[index] and (
                visible is None or len(ppr.neighbors(graph.graph, 2 * index + 1, visible)[0])
            ):
                taken.update(words)
                linked[index] = None
    return list(linked)


def _candidate_names(q: str, stop_words: Collection[str]) -> list[tuple[str, int, int]]:
    """Keys of word runs, longest first, with the words that they cover."""
    words = entity_key(q).split(" ")[:MAX_LINKED_WORDS]
    # A name may stand in brackets or before a comma: its first and last word are stripped there.
    cores = [word if word.isalnum() else entity_key(word) for word in words]
    fronts = [max(word.find(core), 0) for word, core in zip(words, cores, strict=True)]
    first = [word[front:] for word, front in zip(words, fronts, strict=True)]
    last = [
        word[: front + len(core)].removesuffix("'s").removesuffix("’s")
        for word, core, front in zip(words, cores, fronts, strict=True)
    ]
    names = []
    for n_words in range(min(MAX_NAME_WORDS, len(words)), 1, -1):
        for start in range(len(words) - n_words + 1):
            end = start + n_words
            inner = words[start + 1 : end - 1]
            names.append((" ".join([first[start], *inner, last[end - 1]]), start, end))
    for position, (word, front) in enumerate(zip(last, fronts, strict=True)):
        key = word[front:]
        if key and key not in stop_words:
            names.append((key, position, position + 1))
    return names
