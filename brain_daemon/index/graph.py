"""The resident graph: passages and entities as nodes, their links as weighted edges.

Node ``2 * row`` is a passage, node ``2 * entity_index + 1`` an entity. Entity indices are the ids
of a `Vocabulary` over entity keys, so a name is linked without a Python object per entity.
Seeds and ranking are recall's business.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from brain_daemon._ext.ppr import Graph, count_mentions, neighbors
from brain_daemon._ext.vocabulary import Vocabulary
from brain_daemon.index import growable

MENTION_WEIGHT = 1.0
RELATION_WEIGHT = 1.0
TAXONOMY_WEIGHT = 0.1  # says what kind of thing it is, not what happened to it
SEQUENCE_WEIGHT = 0.5
TAXONOMY_RELATIONS = frozenset({"tagged_with", "alias_of"})

_KEY_SPACE = "\x1f"  # stands for the spaces inside a key: Vocabulary splits there

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]

_NONE: Codes = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Links:
    """Undirected weighted links between nodes, each on the evidence of a row; equal shapes.

    The links of one row come in the order of the store's ids: sums of floats and ties between paths
    depend on it, and must not on whether rows were loaded or added.
    """

    a: Codes
    b: Codes
    weight: Floats
    evidence: Codes

    @classmethod
    def mentions(cls, rows: Ints, entities: Codes) -> "Links":
        """Passages and the entities that they name; no pair twice."""
        return cls._of(2 * rows, 2 * entities + 1, MENTION_WEIGHT, rows)

    @classmethod
    def relations(
        cls, sources: Codes, targets: Codes, weights: npt.ArrayLike, rows: Ints
    ) -> "Links":
        """Typed edges between entities, stated in ``rows``."""
        return cls._of(2 * sources + 1, 2 * targets + 1, weights, rows)

    @classmethod
    def sequence(cls, rows: Ints, previous_rows: Ints) -> "Links":
        """Passages and the passages right before them."""
        return cls._of(2 * rows, 2 * previous_rows, SEQUENCE_WEIGHT, rows)

    @classmethod
    def join(cls, parts: Sequence["Links"]) -> "Links":
        return cls(
            np.concatenate([part.a for part in parts]),
            np.concatenate([part.b for part in parts]),
            np.concatenate([part.weight for part in parts]),
            np.concatenate([part.evidence for part in parts]),
        )

    @classmethod
    def _of(
        cls, a: npt.ArrayLike, b: npt.ArrayLike, weight: npt.ArrayLike, rows: npt.ArrayLike
    ) -> "Links":
        """Keep the links whose evidence and ends are resident (row and index >= 0)."""
        a, b, rows = (np.asarray(x, np.int32) for x in (a, b, rows))
        weight = np.broadcast_to(np.asarray(weight, np.float32), a.shape)
        kept = (a >= 0) & (b >= 0) & (rows >= 0)
        return cls(a[kept], b[kept], weight[kept], rows[kept])


def relation_weight(relation: str) -> float:
    """Weight of a typed edge between entities."""
    return TAXONOMY_WEIGHT if relation in TAXONOMY_RELATIONS else RELATION_WEIGHT


def encode_keys(keys: Iterable[str]) -> bytes:
    """Join keys, which hold no control characters, for `Vocabulary`, which splits on spaces."""
    return "\n".join(keys).replace(" ", _KEY_SPACE).replace("\n", " ").encode()


@dataclass(frozen=True, slots=True)
class EntityGraph:
    """Graph, entity names and what damps hubs."""

    graph: Graph
    keys: Vocabulary
    entity_id: Ints  # by entity index: the store's newest id of that key
    known_id: Ints  # ascending: every entity id seen …
    known_index: Codes  # … and its entity index
    degree: Codes  # by entity index: living passages that name it
    factors: Floats  # by node: multiplies the weight of edges into it

    @classmethod
    def empty(cls) -> "EntityGraph":
        ids, codes = growable.empty(np.int64), growable.empty(np.int32)
        return cls(Graph(), Vocabulary(), ids, ids, codes, codes, growable.empty(np.float32))

    def lookup(self, keys: Sequence[str]) -> Codes:
        """Entity indices of keys, shape (len(keys),); -1 where there is none."""
        return self.keys.lookup(encode_keys(keys)) if keys else np.empty(0, np.int32)

    def key(self, index: int) -> str:
        """The key of an entity."""
        return self.keys.term(index).decode().replace(_KEY_SPACE, " ")

    def indices(self, entity_ids: Sequence[int] | Ints) -> Codes:
        """Entity indices of the store's entity ids.

        Raises
        ------
        ValueError
            If an id was never added: the mirror and the store would drift apart.
        """
        wanted = np.asarray(entity_ids, np.int64)
        if not len(wanted):
            return np.empty(0, np.int32)
        found = np.searchsorted(self.known_id, wanted)
        if (
            not len(self.known_id)
            or (found == len(self.known_id)).any()
            or (self.known_id[found] != wanted).any()
        ):
            raise ValueError("an edge or mention names an entity id that was never added")
        return self.known_index[found]

    def add_entities(self, entities: Sequence[tuple[int, str]]) -> "EntityGraph":
        """Add ``(id, key)`` pairs, ids ascending; a key that comes back keeps its index."""
        if not entities:
            return self
        joined = encode_keys(key for _, key in entities)
        self.keys.count(joined)
        index = self.keys.lookup(joined)
        ids = np.fromiter((entity_id for entity_id, _ in entities), np.int64, len(entities))
        n_new = len(self.keys) - len(self.entity_id)
        entity_id = np.concatenate((self.entity_id, np.zeros(n_new, np.int64)))
        entity_id[index] = ids
        entity_id.flags.writeable = False
        return replace(
            self,
            entity_id=entity_id,
            known_id=growable.extend(self.known_id, ids),
            known_index=growable.extend(self.known_index, index),
            degree=np.concatenate((self.degree, np.zeros(n_new, np.int32))),
        )

    def link(self, links: Links, alive: npt.NDArray[np.uint8]) -> "EntityGraph":
        """Add links in both directions; afterwards the graph covers the passages of ``alive``."""
        graph, degree = self.graph, self.degree
        if len(links.a):
            evidence = np.concatenate((links.evidence, links.evidence))
            # By row, so that edges stand in one order however many commits brought them.
            order = np.argsort(evidence, kind="stable")
            graph = graph.append(
                np.concatenate((links.a, links.b))[order],
                np.concatenate((links.b, links.a))[order],
                np.concatenate((links.weight, links.weight))[order],
                evidence[order],
            )
            is_mention = (links.a % 2 == 0) & (links.b % 2 == 1)
            named = links.b[is_mention & (alive[links.evidence] != 0)] // 2
            degree = degree.copy()
            np.add.at(degree, named, 1)
        else:
            named = _NONE
        return replace(
            self,
            graph=graph,
            degree=degree,
            factors=_damped(self.factors, degree, named, len(alive)),
        )

    def unlink(self, rows: Ints, alive: npt.NDArray[np.uint8]) -> "EntityGraph":
        """Let the degrees forget dying rows; ``alive`` is the mask from before their death."""
        return self._recount(rows, alive, -1)

    def count(self, rows: Ints, alive: npt.NDArray[np.uint8]) -> "EntityGraph":
        """Let the degrees know rows that came alive; ``alive`` is the mask from then on."""
        return self._recount(rows, alive, 1)

    def seen_through(self, mask: npt.NDArray[np.uint8]) -> "EntityGraph":
        """Damp hubs by the passages of a mask alone, of shape (number of rows,)."""
        degree = count_mentions(self.graph, mask, len(self.entity_id))
        every = np.arange(len(degree), dtype=np.int32)
        return replace(self, degree=degree, factors=_damped(self.factors, degree, every, 0))

    def _recount(self, rows: Ints, alive: npt.NDArray[np.uint8], by: int) -> "EntityGraph":
        if not len(rows):
            return self
        degree = self.degree.copy()
        named = np.concatenate([neighbors(self.graph, 2 * row, alive)[0] for row in rows.tolist()])
        named = named[named % 2 == 1] // 2
        np.add.at(degree, named, by)
        factors = _damped(self.factors, degree, named, len(alive))
        return replace(self, degree=degree, factors=factors)


def _damped(factors: Floats, degree: Codes, changed: Codes, n_rows: int) -> Floats:
    """Damp hubs: an edge into an entity counts 1 / sqrt(the passages that name it).

    Parameters
    ----------
    factors : ndarray of float32
        Those from before.
    degree : ndarray of int32
        By entity index.
    changed : ndarray of int32
        Entity indices whose degree is another than before.
    n_rows : int
        Passages that the graph covers.
    """
    damped = np.ones(max(len(factors), 2 * n_rows, 2 * len(degree)), np.float32)
    damped[: len(factors)] = factors
    damped[2 * changed + 1] = 1.0 / np.sqrt(np.maximum(degree[changed], 1), dtype=np.float32)
    damped.flags.writeable = False
    return damped
