"""The immutable state that a request reads, and how a commit leads to the next one.

A reader keeps the snapshot it started with; the writer publishes the next as a whole. Growable
parts are shared between snapshots (see `growable`), so an advance costs what its batch costs plus
a copy of a few small per-row and per-entity arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from brain_daemon._ext.bm25 import Postings
from brain_daemon._ext.vocabulary import Vocabulary
from brain_daemon.index.graph import EntityGraph, Links, relation_weight
from brain_daemon.index.rows import Attributes, Ints, Rows
from brain_daemon.index.vectors import Vectors
from brain_daemon.index.visibility import EVER, Filters, VisibilityCache, Visible
from brain_daemon.model import PreparedDocument, Principal, Terms
from brain_daemon.store.documents import PutResult
from brain_daemon.store.graph import Edge

_STALE_SHARE = 0.25  # dead rows in postings and graph before they are compacted
_MAX_SEEN = 8  # of 1.5 MB each at 100k chunks
_REBUILD_ROWS = 4096  # fewer dead rows than this never ask for a rebuild


@dataclass(frozen=True, slots=True)
class Change:
    """What one committed write did to the store.

    The chunks of ``document`` were stored as ``chunk_ids``, in their order; ``previous_ids`` and
    ``entity_ids`` are parallel to them, ``flagged`` too (empty: none is). Chunks in
    ``removed_chunk_ids`` left, those in ``released_chunk_ids`` left quarantine, those in
    ``held_chunk_ids`` came into it.
    """

    removed_chunk_ids: Sequence[int] = ()
    document: PreparedDocument | None = None
    chunk_ids: Sequence[int] = ()
    previous_ids: Sequence[int | None] = ()
    entity_ids: Sequence[Sequence[int]] = ()
    edges: Sequence[Edge] = ()
    new_entities: Sequence[tuple[int, str, str]] = ()  # id ascending, key, name
    flagged: Sequence[bool] = ()
    released_chunk_ids: Sequence[int] = ()
    held_chunk_ids: Sequence[int] = ()
    expiry: tuple[Sequence[int], int | None] | None = None  # chunk ids and when they expire now

    @classmethod
    def put(cls, document: PreparedDocument, result: PutResult) -> "Change":
        """Describe a stored document from what the store answered."""
        return cls(
            removed_chunk_ids=result.removed_chunk_ids,
            document=document,
            chunk_ids=result.chunk_ids,
            previous_ids=result.previous_ids,
            entity_ids=result.entity_ids,
            edges=result.edges,
            new_entities=result.new_entities,
            flagged=result.flagged,
        )

    @classmethod
    def release(cls, chunk_id: int) -> "Change":
        """Describe a chunk that left quarantine."""
        return cls(released_chunk_ids=(chunk_id,))

    @classmethod
    def hold(cls, chunk_ids: Sequence[int]) -> "Change":
        """Describe chunks that came into quarantine."""
        return cls(held_chunk_ids=chunk_ids)

    @classmethod
    def removal(cls, chunk_ids: Sequence[int]) -> "Change":
        """Describe chunks that left."""
        return cls(removed_chunk_ids=chunk_ids)

    @classmethod
    def expiring(cls, chunk_ids: Sequence[int], expires_at_us: int | None) -> "Change":
        """Describe chunks that expire at another time than before, or never (None)."""
        return cls(expiry=(chunk_ids, expires_at_us))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that recall scans. ``vocabulary`` and ``cache`` go along the lineage."""

    rows: Rows
    vectors: Vectors
    vocabulary: Vocabulary
    postings: Postings
    graph: EntityGraph
    generation: int = 0
    n_stale: int = 0  # dead rows whose postings and edges are still held
    cache: VisibilityCache = field(default_factory=VisibilityCache)
    is_whole: bool = True  # not what `seen_by` gave
    _seen: dict[tuple[object, ...], "Snapshot"] = field(init=False, default_factory=dict)

    @classmethod
    def empty(cls, dim: int, generation: int = 0) -> "Snapshot":
        return cls(
            Rows.empty(),
            Vectors.empty(dim),
            Vocabulary(),
            Postings(),
            EntityGraph.empty(),
            generation,
        )

    @property
    def n_rows(self) -> int:
        """Rows that a scan passes over, dead ones included."""
        return len(self.rows)

    @property
    def n_alive(self) -> int:
        return self.rows.n_alive

    @property
    def needs_rebuild(self) -> bool:
        """Most rows are dead: load anew from the store, which renumbers them."""
        n_dead = self.n_rows - self.n_alive - self.rows.n_flagged
        return n_dead > max(_REBUILD_ROWS, self.n_alive)

    def figures(self) -> dict[str, int]:
        """Sizes for operators."""
        return {
            "chunks": self.n_alive,
            "rows": self.n_rows,
            "quarantined": self.rows.n_flagged,
            "terms": len(self.vocabulary),
            "postings": self.postings.n_postings,
            "posting_segments": self.postings.n_segments,
            "postings_bytes": self.postings.nbytes + self.vocabulary.nbytes,
            "vector_bytes": self.vectors.nbytes,
            "entities": len(self.graph.keys),
            "graph_edges": self.graph.graph.n_edges,
            "graph_segments": self.graph.graph.n_segments,
            "graph_bytes": self.graph.graph.nbytes + self.graph.keys.nbytes,
        }

    def visible(self, principal: Principal, filters: Filters, now_us: int) -> Visible:
        """Compile the one visibility predicate into a mask over this snapshot's rows."""
        return self.cache.visible(self.rows, principal, filters, now_us)

    def seen_by(self, principal: Principal, now_us: int) -> "Snapshot":
        """Give the snapshot that a principal would find if nothing hidden from it were stored.

        Words and names are weighed by how many memories have them, so that others' would tell of
        themselves in scores, and could push one's own below a threshold. Expired ones count.
        """
        permitted = self.visible(principal, EVER, now_us)
        if permitted.n_visible == self.n_alive:
            return self
        key = (principal.name, principal.domains, principal.scopes)
        seen = self._seen.get(key)
        if seen is None:
            seen = replace(
                self,
                rows=self.rows.only(permitted.mask),
                graph=self.graph.seen_through(permitted.mask),
                is_whole=False,
            )
            if len(self._seen) >= _MAX_SEEN:
                self._seen.clear()
            self._seen[key] = seen
        return seen

    def sees(
        self, chunk_ids: Sequence[int], principal: Principal, filters: Filters, now_us: int
    ) -> list[bool]:
        """Tell for each chunk id whether the principal may see it (False if it is not there)."""
        rows = self.rows.find(chunk_ids)
        if not len(self.rows):
            return [False] * len(rows)
        mask = self.visible(principal, filters, now_us).mask
        return ((rows >= 0) & (mask[rows] != 0)).tolist()

    def advance(self, changes: Sequence[Change]) -> "Snapshot":
        """Give the snapshot after a committed batch; ``self`` stays valid.

        Only the newest snapshot of a lineage may be advanced.

        Raises
        ------
        ValueError
            If the changes do not fit: chunk ids that do not ascend, unknown entity ids.
        """
        grown = self._append(changes)._expire(changes)._hold(changes)._release(changes)
        removed = [chunk_id for change in changes for chunk_id in change.removed_chunk_ids]
        return replace(grown._remove(removed), generation=self.generation + 1)

    def compact(self) -> "Snapshot":
        """Give the same in one piece, without what has left: cheaper to search."""
        return replace(
            self,
            postings=self.postings.compact(self.rows.held),
            graph=replace(self.graph, graph=self.graph.graph.compact(self.rows.held)),
            n_stale=0,
        )

    def _append(self, changes: Sequence[Change]) -> "Snapshot":
        graph = self.graph.add_entities(
            [(id_, key) for change in changes for id_, key, _ in change.new_entities]
        )
        stored = [
            (chunk_id, change.document.tags, chunk, flagged)
            for change in changes
            if change.document is not None
            for chunk_id, chunk, flagged in zip(
                change.chunk_ids,
                change.document.chunks,
                change.flagged or [False] * len(change.chunk_ids),
                strict=True,
            )
        ]
        edges = sorted(
            (edge for change in changes for edge in change.edges),
            key=lambda e: (e.chunk_id, e.source_id, e.target_id, e.relation),
        )
        if not stored and not edges:
            return replace(self, graph=graph)
        lists = ForwardLists(self.vocabulary, len(self.rows))
        attributes = [
            Attributes(chunk_id, tags, lists.add(joined_terms(chunk.terms)), flagged)
            for chunk_id, tags, chunk, flagged in stored
        ]
        rows = self.rows.append(attributes)
        vectors = self.vectors
        if stored:
            vectors = vectors.append(
                np.stack([chunk.vector for _, _, chunk, _ in stored]),
                np.array([chunk.scale for _, _, chunk, _ in stored], np.float32),
            )
        return replace(
            self,
            rows=rows,
            vectors=vectors,
            postings=lists.append_to(self.postings),
            graph=graph.link(_links(changes, edges, rows, graph), rows.alive),
        )

    def _expire(self, changes: Sequence[Change]) -> "Snapshot":
        expiries = [change.expiry for change in changes if change.expiry is not None]
        if not expiries:
            return self
        # Cached masks know the old instants.
        return replace(self, rows=self.rows.with_expiries(expiries), cache=VisibilityCache())

    def _rows_of(self, chunk_ids: Sequence[int]) -> Ints:
        """Rows of chunks, distinct and ascending; ids that are not there are skipped."""
        if not chunk_ids:
            return np.empty(0, np.int64)
        found = np.unique(self.rows.find(chunk_ids))
        return found[found >= 0]

    def _hold(self, changes: Sequence[Change]) -> "Snapshot":
        chunk_ids = [chunk_id for change in changes for chunk_id in change.held_chunk_ids]
        found = self._rows_of(chunk_ids)
        held = found[self.rows.alive[found] != 0]
        if not len(held):
            return self
        graph = self.graph.unlink(held, self.rows.alive)
        return replace(self, rows=self.rows.hold(held), graph=graph)

    def _release(self, changes: Sequence[Change]) -> "Snapshot":
        chunk_ids = [chunk_id for change in changes for chunk_id in change.released_chunk_ids]
        found = self._rows_of(chunk_ids)
        freed = found[self.rows.flagged[found] != 0]
        if not len(freed):
            return self
        rows = self.rows.release(freed)
        return replace(self, rows=rows, graph=self.graph.count(freed, rows.alive))

    def _remove(self, chunk_ids: Sequence[int]) -> "Snapshot":
        dying = self._rows_of(chunk_ids)
        if not len(dying):
            return self
        graph = self.graph.unlink(dying, self.rows.alive)
        rows = self.rows.remove(dying)
        n_stale = self.n_stale + len(dying)
        left = replace(self, rows=rows, graph=graph, n_stale=n_stale)
        return left.compact() if n_stale > _STALE_SHARE * (rows.n_alive + n_stale) else left


class ForwardLists:
    """The analysed terms of consecutive new rows, collected for `Postings.append`."""

    def __init__(self, vocabulary: Vocabulary, first_row: int) -> None:
        self._vocabulary = vocabulary
        self._first_row = first_row
        self._indptr = [0]
        self._ids: list[np.ndarray] = []
        self._tfs: list[np.ndarray] = []

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, terms: bytes) -> int:
        """Take the next row's terms, joined by single spaces; give how many they are."""
        ids, tfs, length = self._vocabulary.count(terms)
        self._ids.append(ids)
        self._tfs.append(tfs)
        self._indptr.append(self._indptr[-1] + len(ids))
        return length

    def append_to(self, postings: Postings) -> Postings:
        if not self._ids:
            return postings
        return postings.append(
            np.arange(self._first_row, self._first_row + len(self._ids), dtype=np.int32),
            np.array(self._indptr, np.int64),
            np.concatenate(self._ids),
            np.concatenate(self._tfs),
        )


def joined_terms(terms: Terms) -> bytes:
    """All columns as one list of terms: FTS5's bm25() adds its columns up just so."""
    return " ".join(filter(None, (terms.title, terms.body, terms.extra))).encode()


def _links(
    changes: Sequence[Change],
    edges: Sequence[Edge],
    rows: Rows,
    graph: EntityGraph,
) -> Links:
    mentions = [
        (chunk_id, entity_id)
        for change in changes
        for chunk_id, entity_ids in zip(change.chunk_ids, change.entity_ids, strict=True)
        for entity_id in sorted(set(entity_ids))
    ]
    sequence = [
        (chunk_id, previous_id)
        for change in changes
        for chunk_id, previous_id in zip(change.chunk_ids, change.previous_ids, strict=True)
        if previous_id is not None
    ]
    return Links.join(
        [
            Links.mentions(
                rows.find([chunk_id for chunk_id, _ in mentions]),
                graph.indices([entity_id for _, entity_id in mentions]),
            ),
            Links.relations(
                graph.indices([edge.source_id for edge in edges]),
                graph.indices([edge.target_id for edge in edges]),
                [relation_weight(edge.relation) for edge in edges],
                rows.find([edge.chunk_id for edge in edges]),
            ),
            Links.sequence(
                rows.find([chunk_id for chunk_id, _ in sequence]),
                rows.find([previous_id for _, previous_id in sequence]),
            ),
        ]
    )
