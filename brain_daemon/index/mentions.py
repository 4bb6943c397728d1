"""Which passages mention which entities, read out of the graph only where somebody sees a part.

How many passages mention an entity is counted with the graph itself; a principal who may not see
all of them is owed a count of its own.
"""

import numpy as np

from brain_daemon._ext.ppr import neighbors
from brain_daemon.index.graph import EntityGraph
from brain_daemon.index.rows import Codes, Mask

_NONE: Codes = np.empty(0, np.int32)


class Mentions:
    """The mentions of the rows so far, shared by the snapshots of one lineage.

    What a row mentions never changes, so they are only added to. Replaced as a whole: concurrent
    readers at worst read the same twice.
    """

    def __init__(self) -> None:
        self._known = (0, _NONE, _NONE)  # rows read, and for each mention its row and its entity

    def count(self, graph: EntityGraph, mask: Mask) -> Codes:
        """Count the passages of a mask, of shape (n,), that mention each entity; by its index."""
        n_rows, rows, entities = self._known
        if n_rows < len(mask):
            everything = np.ones(len(mask), np.uint8)
            added = [
                nodes[nodes % 2 == 1] // 2
                for nodes in (
                    neighbors(graph.graph, 2 * row, everything)[0]
                    for row in range(n_rows, len(mask))
                )
            ]
            of = np.repeat(np.arange(n_rows, len(mask), dtype=np.int32), list(map(len, added)))
            rows = np.concatenate((rows, of))
            entities = np.concatenate((entities, *added))
            self._known = (len(mask), rows, entities)
        end = int(np.searchsorted(rows, len(mask)))
        seen = entities[:end][mask[rows[:end]] != 0]
        return np.bincount(seen, minlength=len(graph.entity_id)).astype(np.int32)
