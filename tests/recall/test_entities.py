"""Names of relations on the way to a hit, through the caller's own eyes."""

import numpy as np

from brain_daemon.recall.entities import EntityView
from tests.index.stores import ALICE, BOB
from tests.recall.memories import Memories

NOWHERE = np.zeros(256, np.float32)


def between(store: Memories, first: str, second: str, principal: object = ALICE) -> str | None:
    view = EntityView(store.snapshot, store.mask(principal), store.conn)  # type: ignore[arg-type]
    ends = store.snapshot.graph.lookup([first, second]).tolist()
    return view.relation_between(*ends)


def test_a_relation_is_named_in_both_directions(memories: Memories) -> None:
    memories.add("x", relations=[("Ana", "works_at", "Initech"), ("Ana", "zips", "Initech")])
    memories.add("y", relations=[("Ana", "a_later_one", "Initech")], names=["Lisbon"])
    assert between(memories, "ana", "initech") == "works_at"
    assert between(memories, "initech", "ana") == "^works_at"
    assert between(memories, "ana", "lisbon") is None


def test_anothers_relation_is_not_named(memories: Memories) -> None:
    memories.add("x", relations=[("Ana", "owes", "Initech")], owner="bob")
    memories.add("y", names=["Ana", "Initech"])
    assert between(memories, "ana", "initech") is None
    assert between(memories, "ana", "initech", BOB) == "owes"


def test_a_path_leads_from_the_query_over_relations_to_the_chunk(memories: Memories) -> None:
    memories.add("x", relations=[("Ana", "works_at", "Initech")], embedding=NOWHERE)
    memories.add("z", relations=[("Lisbon", "hosts", "Initech")], embedding=NOWHERE)
    near = memories.add("y", names=["Initech"], embedding=NOWHERE)
    far = memories.add("w", names=["Lisbon"], embedding=NOWHERE)
    hits = memories.recall("Ana", k=9, abstain=False)["hits"]
    paths = {hit["id"]: hit["provenance"]["graph"]["path"] for hit in hits}
    assert paths[near] == ["query", "Ana", "works_at", "Initech", f"chunk {near}"]
    assert paths[far] == [
        *["query", "Ana", "works_at", "Initech", "^hosts", "Lisbon", f"chunk {far}"]
    ]
