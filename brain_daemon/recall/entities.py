"""What one caller sees of the entity graph: entities, the relations between them, walks.

An entity is known to a caller, and a relation holds for it, only through evidence that it may see:
names, kinds and counts included. Relations and mentions are the store's; which of them count is
decided by the same mask as in every leg. Not here: ranking (`graph`), changing anything.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import apsw
import numpy as np

from brain_daemon._ext import ppr
from brain_daemon.index.rows import Codes, Mask
from brain_daemon.index.snapshot import Snapshot
from brain_daemon.store import graph as stored
from brain_daemon.text.names import entity_key

MAX_DEPTH = 4
MAX_VISITED = 256
MAX_EVIDENCE = 16  # chunk ids that a relation or a hop names; the rest is counted

_passage = re.compile(r"chunk ([0-9]{1,18})")  # as `pipeline` names it on a path
_LINKED_ONLY = "link"  # the kind of an entity that relations name and no text mentions


class Stated(NamedTuple):
    """A relation between two entity indices, and the visible chunks that state it, ascending."""

    subject: int
    relation: str
    object: int
    chunk_ids: tuple[int, ...]

    def other(self, index: int) -> int:
        """The end that is not ``index``."""
        return self.object if self.subject == index else self.subject


class Step(NamedTuple):
    """How a walk came to an entity."""

    previous: int
    stated: Stated


@dataclass(frozen=True, slots=True)
class EntityView:
    """The part of a snapshot's graph whose evidence a mask lets through."""

    snapshot: Snapshot
    mask: Mask
    conn: apsw.Connection
    _names: dict[int, str] = field(default_factory=dict)  # those that were asked for

    def sees(self, chunk_id: int) -> bool:
        """Tell whether a chunk is visible."""
        (row,) = self.snapshot.rows.find([chunk_id]).tolist()
        return row >= 0 and bool(self.mask[row])

    def find(self, name: str) -> int | None:
        """Give the entity index of a name; None where nothing visible speaks of it."""
        key = entity_key(name)
        found = self.snapshot.graph.lookup([key]) if key else ()
        for index in map(int, found):
            if 0 <= index < len(self.snapshot.graph.entity_id) and len(self._neighbors(index)):
                return index
        return None

    def chunk_ids(self, index: int) -> list[int]:
        """Give the visible chunks that mention an entity, ascending."""
        rows = np.unique(self._passages(index))
        return self.snapshot.rows.chunk_id[rows].tolist()

    def relations(self, index: int, relation: str | None = None) -> list[Stated]:
        """Give what visible chunks state about an entity, each relation once.

        Parameters
        ----------
        index : int
        relation : str, optional
            Only relations of this name.

        Returns
        -------
        list of Stated
            The earliest stated first: by first chunk id, then relation, subject and object.
        """
        graph = self.snapshot.graph
        edges = stored.relations(self.conn, int(graph.entity_id[index]), relation)
        rows = self.snapshot.rows.find([edge.chunk_id for edge in edges])
        seen = [
            edge
            for edge, row in zip(edges, rows.tolist(), strict=True)
            if row >= 0 and self.mask[row]
        ]
        subjects = graph.indices([edge.source_id for edge in seen]).tolist()
        objects = graph.indices([edge.target_id for edge in seen]).tolist()
        evidence: dict[tuple[int, str, int], list[int]] = {}
        for edge, subject, object_ in zip(seen, subjects, objects, strict=True):
            evidence.setdefault((subject, edge.relation, object_), []).append(edge.chunk_id)
        found = [Stated(*ends, tuple(sorted(ids))) for ends, ids in evidence.items()]
        return sorted(found, key=lambda s: (s.chunk_ids[0], s.relation, s.subject, s.object))

    def relation_between(self, first: int, second: int) -> str | None:
        """Name the earliest visible relation of two entities, with ``^`` where it leads backwards.

        ``^`` before a relation is its inverse, as in SPARQL's property paths.
        """
        targets, _, evidence = ppr.neighbors(self.snapshot.graph.graph, 2 * first + 1, self.mask)
        rows = evidence[targets == 2 * second + 1]
        if not len(rows):
            return None
        ids = self.snapshot.graph.entity_id
        stated = stored.relation_at(
            self.conn,
            int(self.snapshot.rows.chunk_id[rows.min()]),
            int(ids[first]),
            int(ids[second]),
        )
        return None if stated is None else stated[0] if stated[1] else f"^{stated[0]}"

    def record(self, index: int) -> dict[str, Any]:
        """Give an entity's name and kind.

        The stored name is the spelling of whoever named the entity first; a caller who cannot see
        that text gets the folded name, and the kind is that of its own first mention.
        """
        graph = self.snapshot.graph
        rows = self._passages(index)
        name, kind = graph.key(index), _LINKED_ONLY
        if len(rows):
            first = int(self.snapshot.rows.chunk_id[rows.min()])
            naming = stored.naming(self.conn, int(graph.entity_id[index]), first)
            if naming is not None:  # else forgotten since the snapshot was taken
                name, kind = naming
        return {"name": name, "kind": kind}

    def names(self, indices: Collection[int]) -> dict[int, str]:
        """Give names by entity index: the stored spelling to who sees whose it is, else the key."""
        if new := [index for index in indices if index not in self._names]:
            self._names.update(self._fetch_names(new))
        return {index: self._names[index] for index in indices}

    def _fetch_names(self, indices: list[int]) -> dict[int, str]:
        graph, rows = self.snapshot.graph, self.snapshot.rows
        ids = {index: int(graph.entity_id[index]) for index in indices}
        is_whole = self.snapshot.is_whole and not rows.n_flagged
        if not is_whole or np.count_nonzero(self.mask) < rows.n_alive:
            spelt = stored.spellings(self.conn, list(ids.values()))
            firsts = rows.find([first for _, first in spelt.values()]).tolist()
            known = {
                id_: name
                for (id_, (name, _)), row in zip(spelt.items(), firsts, strict=True)
                if row >= 0 and self.mask[row]
            }
        else:
            known = stored.names(self.conn, list(ids.values()))
        return {index: known.get(id_) or graph.key(index) for index, id_ in ids.items()}

    def confirms(self, path: Sequence[str]) -> bool:
        """Tell whether all that stands on a path of the provenance is seen, its ends left out."""
        found = [self.find(name) for name in path]
        for place, name in enumerate(path[1:-1], 1):
            passage = _passage.fullmatch(name)
            if found[place] is not None or (passage and self.sees(int(passage[1]))):
                continue
            before, after = found[place - 1], found[place + 1]
            if before is None or after is None or self.relation_between(before, after) != name:
                return False
        return True

    def walk(
        self, start: int, depth: int, relation: str | None = None
    ) -> tuple[dict[int, Step | None], bool]:
        """Walk relations breadth first, against their direction too.

        Parameters
        ----------
        start : int
            An entity index.
        depth : int
            Most relations in a row, 1 to 4.
        relation : str, optional
            Walk over relations of this name only.

        Returns
        -------
        steps : dict
            The entities reached, nearest first, in the order of `relations`, and the step to each;
            None for the start. At most 256.
        is_cut : bool
            Whether there were more.
        """
        steps: dict[int, Step | None] = {start: None}
        frontier = [start]
        for _ in range(min(depth, MAX_DEPTH)):
            following: list[int] = []
            for index in frontier:
                for stated in self.relations(index, relation):
                    other = stated.other(index)
                    if other in steps:
                        continue
                    if len(steps) == MAX_VISITED:
                        return steps, True
                    steps[other] = Step(index, stated)
                    following.append(other)
            frontier = following
        return steps, False

    def _neighbors(self, index: int) -> Codes:
        targets, _, _ = ppr.neighbors(self.snapshot.graph.graph, 2 * index + 1, self.mask)
        return targets

    def _passages(self, index: int) -> Codes:
        nodes = self._neighbors(index)
        return nodes[nodes % 2 == 0] // 2


def chain(steps: dict[int, Step | None], index: int) -> list[Stated]:
    """Give the relations that led from the start of a walk to an entity, in order."""
    hops: list[Stated] = []
    while (step := steps[index]) is not None:
        hops.append(step.stated)
        index = step.previous
    return hops[::-1]


def stated_record(stated: Stated, names: dict[int, str]) -> dict[str, Any]:
    """Give a relation as the wire has it."""
    return {
        "subject": names[stated.subject],
        "relation": stated.relation,
        "object": names[stated.object],
        "chunk_ids": list(stated.chunk_ids[:MAX_EVIDENCE]),
        "n_chunks": len(stated.chunk_ids),
    }


def names_of(view: EntityView, statements: Iterable[Stated]) -> dict[int, str]:
    """Give the names of all ends, by entity index."""
    ends = {end for stated in statements for end in (stated.subject, stated.object)}
    return {index: view.record(index)["name"] for index in ends}
