"""Entities, mentions and edges: finding or making them, reading them, removing the unsupported.

An entity lives as long as some chunk mentions it or some edge ends at it. Not here: traversal
and ranking, which run on the resident graph.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import apsw

from brain_daemon.model import PreparedChunk, Relation
from brain_daemon.text.names import entity_key

_NEVER = 2**63 - 1


class Edge(NamedTuple):
    """A typed, directed edge and the chunk that states it."""

    source_id: int
    target_id: int
    relation: str
    chunk_id: int


def intern(
    conn: apsw.Connection, chunks: Sequence[PreparedChunk], next_id: int
) -> tuple[dict[str, int], list[tuple[int, str, str]]]:
    """Find every entity that the chunks name, and make those that are new.

    Parameters
    ----------
    conn : apsw.Connection
        Inside a transaction.
    chunks : sequence of PreparedChunk
    next_id : int
        The first unused entity id.

    Returns
    -------
    ids : dict
        Entity id by name as written; a name whose key is empty is absent.
    created : list of (id, key, name)
    """
    kinds: dict[str, str] = {}
    for chunk in chunks:
        for mention in chunk.mentions:
            kinds.setdefault(mention.name, mention.kind)
        for relation in filter(_joins_two, chunk.relations):
            kinds.setdefault(relation.subject, "link")
            kinds.setdefault(relation.object, "link")
    if not kinds:
        return {}, []
    keys = {name: key for name in kinds if (key := entity_key(name))}
    known = find_ids(conn, set(keys.values()))
    created: list[tuple[int, str, str]] = []
    rows: list[tuple[int, str, str, str]] = []
    for name, key in keys.items():
        if key not in known:
            known[key] = next_id
            created.append((next_id, key, name))
            rows.append((next_id, key, name, kinds[name]))
            next_id += 1
    if rows:
        conn.executemany("INSERT INTO entity(id, key, name, kind) VALUES (?, ?, ?, ?)", rows)
    return {name: known[key] for name, key in keys.items()}, created


def _joins_two(relation: Relation) -> bool:
    """Whether it will be an edge, so that it can support its ends."""
    source, target = entity_key(relation.subject), entity_key(relation.object)
    return bool(source and target and source != target)


def find_ids(conn: apsw.Connection, keys: Iterable[str]) -> dict[str, int]:
    """Give the ids of the entities with these keys; unknown keys are absent."""
    asked = tuple(keys)
    if not asked:
        return {}
    statement = "SELECT key, id FROM carray(?) AS asked CROSS JOIN entity ON key = asked.value"
    return dict(conn.execute(statement, (apsw.carray(asked),)))


def link(
    conn: apsw.Connection,
    chunk_ids: Sequence[int],
    chunks: Sequence[PreparedChunk],
    ids: Mapping[str, int],
) -> tuple[dict[int, list[int]], dict[int, list[Edge]]]:
    """Store the mentions and edges of new chunks.

    Returns
    -------
    entity_ids : dict
        By chunk id the entities it mentions, each once, in order of first mention.
    edges : dict
        By chunk id, where it has any, each once; edges whose two ends are one entity are left out.
    """
    entity_ids: dict[int, list[int]] = {}
    mentions: list[tuple[int, int, str]] = []
    edges: dict[tuple[int, int, int, str], None] = {}
    for chunk_id, chunk in zip(chunk_ids, chunks, strict=True):
        kinds: dict[int, str] = {}
        for mention in chunk.mentions:
            if mention.name in ids:
                kinds.setdefault(ids[mention.name], mention.kind)
        entity_ids[chunk_id] = list(kinds)
        mentions += [(chunk_id, entity_id, kind) for entity_id, kind in kinds.items()]
        for relation in chunk.relations:
            source, target = ids.get(relation.subject), ids.get(relation.object)
            if source is not None and target is not None and source != target:
                edges[chunk_id, source, target, relation.relation] = None
    if mentions:
        conn.executemany(
            "INSERT INTO mention(chunk_id, entity_id, kind) VALUES (?, ?, ?)", mentions
        )
    if edges:
        conn.executemany(
            "INSERT INTO edge(chunk_id, source_id, target_id, relation) VALUES (?, ?, ?, ?)",
            list(edges),
        )
    by_chunk: dict[int, list[Edge]] = {}
    for chunk_id, source, target, name in edges:
        by_chunk.setdefault(chunk_id, []).append(Edge(source, target, name, chunk_id))
    return entity_ids, by_chunk


def unlink(conn: apsw.Connection, chunk_ids: Sequence[int]) -> list[int]:
    """Remove the mentions and edges of chunks.

    Returns
    -------
    list of int
        The entities that lost something: candidates for `prune`, once nothing new names them.
    """
    ids = apsw.carray(array("q", chunk_ids))
    rows = conn.execute(
        "SELECT entity_id FROM mention WHERE chunk_id IN carray(?1) "
        "UNION SELECT source_id FROM edge WHERE chunk_id IN carray(?1) "
        "UNION SELECT target_id FROM edge WHERE chunk_id IN carray(?1)",
        (ids,),
    )
    touched = [row[0] for row in rows]
    if touched:
        conn.execute("DELETE FROM mention WHERE chunk_id IN carray(?)", (ids,))
        conn.execute("DELETE FROM edge WHERE chunk_id IN carray(?)", (ids,))
    return touched


def prune(conn: apsw.Connection, candidates: Sequence[int]) -> list[int]:
    """Remove those of the candidates that nothing supports any more; give their ids."""
    if not candidates:
        return []
    gone = conn.execute(
        "DELETE FROM entity WHERE id IN carray(?) "
        "AND NOT EXISTS (SELECT 1 FROM mention WHERE entity_id = entity.id) "
        "AND NOT EXISTS (SELECT 1 FROM edge WHERE source_id = entity.id) "
        "AND NOT EXISTS (SELECT 1 FROM edge WHERE target_id = entity.id) RETURNING id",
        (apsw.carray(array("q", candidates)),),
    )
    return sorted(row[0] for row in gone)


def names(conn: apsw.Connection, ids: Sequence[int]) -> dict[int, str]:
    """Give the stored names of entities, those of their first mentions, by id; unknown ids lack."""
    if not ids:
        return {}
    rows = conn.execute(
        "SELECT id, name FROM carray(?) AS asked CROSS JOIN entity ON entity.id = asked.value",
        (apsw.carray(array("q", ids)),),
    )
    return dict(rows)


def relations(conn: apsw.Connection, entity_id: int, relation: str | None = None) -> list[Edge]:
    """Give the edges (of this name) at an entity, by (source, target, relation, chunk)."""
    rows = conn.execute(
        "SELECT source_id, target_id, relation, chunk_id FROM edge "
        "WHERE (source_id = ?1 OR target_id = ?1) AND relation = ifnull(?2, relation) "
        "ORDER BY 1, 2, 3, 4",
        (entity_id, relation),
    )
    return [Edge(*row) for row in rows]


def relation_at(
    conn: apsw.Connection, chunk_id: int, first_id: int, second_id: int
) -> tuple[str, bool] | None:
    """Name what a chunk states about two entities, and whether it leads from first to second."""
    row = conn.execute(
        "SELECT relation, source_id = ?2 FROM edge WHERE chunk_id = ?1 "
        "AND ((source_id = ?2 AND target_id = ?3) OR (source_id = ?3 AND target_id = ?2)) "
        "ORDER BY 2 DESC, 1 LIMIT 1",
        (chunk_id, first_id, second_id),
    ).fetchone()
    return None if row is None else (str(row[0]), bool(row[1]))


_FIRST = (  # the chunk that named an entity: the first to mention it or to state something of it
    f"min(ifnull((SELECT min(chunk_id) FROM mention WHERE entity_id = entity.id), {_NEVER}), "
    f"ifnull((SELECT min(chunk_id) FROM edge WHERE source_id = entity.id), {_NEVER}), "
    f"ifnull((SELECT min(chunk_id) FROM edge WHERE target_id = entity.id), {_NEVER}))"
)


def spellings(conn: apsw.Connection, ids: Sequence[int]) -> dict[int, tuple[str, int]]:
    """Give the stored name of entities by id, and the chunk whose spelling that is."""
    rows = conn.execute(
        f"SELECT id, name, {_FIRST} FROM entity WHERE id IN carray(?)",
        (apsw.carray(array("q", ids)),),
    )
    return {row[0]: (row[1], row[2]) for row in rows}


def naming(conn: apsw.Connection, entity_id: int, chunk_id: int) -> tuple[str, str] | None:
    """Give an entity's name and kind as one of the chunks that mention it may tell them.

    The name is the stored spelling where no earlier chunk speaks of the entity, else the key.
    """
    row = conn.execute(
        f"SELECT iif(chunk_id = {_FIRST}, entity.name, entity.key), mention.kind FROM mention "
        "JOIN entity ON entity.id = entity_id WHERE entity_id = ? AND chunk_id = ?",
        (entity_id, chunk_id),
    ).fetchone()
    return None if row is None else (str(row[0]), str(row[1]))


def mentioning(conn: apsw.Connection, entity_id: int) -> list[int]:
    """Give the chunks that mention an entity, ascending."""
    rows = conn.execute(
        "SELECT chunk_id FROM mention WHERE entity_id = ? ORDER BY chunk_id", (entity_id,)
    )
    return [row[0] for row in rows]
