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


def test_a_spelling_is_told_to_who_sees_whose_it_is(memories: Memories) -> None:
    """In an answer too, whether the entity was first mentioned or first named by a relation."""
    memories.add("theirs", names=["PROJECT X"], owner="bob")
    memories.add("theirs as well", relations=[("PROJECT Y", "needs", "GOLD")], owner="bob")
    own = memories.add("budget", names=["project x", "project y"], embedding=NOWHERE)
    expected = {
        ALICE: (["project x", "project y"], ["query", "project y", f"chunk {own}"]),
        BOB: (["PROJECT X", "PROJECT Y"], None),
    }
    for who, (entities, path) in expected.items():
        answer = memories.recall("budget of project x and project y", who, k=9)
        assert answer["legs"]["graph"]["entities"] == entities
        text = str(answer)
        assert ("PROJECT" in text) == (who == BOB)
        assert ("project y" in text.replace("and project y", "")) == (who == ALICE)
        if path:
            found = memories.recall("project y", who)["hits"][0]
            assert found["provenance"]["graph"]["path"] == path
    for key in ("project x", "project y"):
        (index,) = memories.snapshot.graph.lookup([key]).tolist()
        view = EntityView(memories.snapshot, memories.mask(), memories.conn)
        assert view.record(index)["name"] == view.names([index])[index] == key


def test_names_are_spelt_though_something_is_hidden(memories: Memories) -> None:
    memories.add("a secret", owner="bob")
    memories.add("Ana works at Initech", names=["Ana"], relations=[("Ana", "works_at", "Initech")])
    assert memories.recall("initech and ana")["legs"]["graph"]["entities"] == ["Initech", "Ana"]


def test_a_path_is_confirmed_as_long_as_all_on_it_is_seen(memories: Memories) -> None:
    stated = memories.add("x", relations=[("Ana", "works_at", "Initech")])
    memories.add("y", names=["Ana"])
    near = memories.add("z", names=["Initech"])

    def confirms(*path: str) -> bool:
        view = EntityView(memories.snapshot, memories.mask(), memories.conn)
        return view.confirms(["query", *path, "chunk 0"])

    paths = [
        ["Ana", "works_at", "Initech"],
        ["Initech", "^works_at", "Ana"],
        [f"chunk {stated}", "Ana"],
    ]
    assert all(confirms(*path) for path in paths)
    assert confirms()
    assert not confirms("Ana", "owes", "Initech")
    assert not confirms("Ana", "Zanzibar")
    assert not confirms("chunk 99999999999999999999999")
    memories.forget(stated)
    assert not any(confirms(*path) for path in paths)
    assert confirms("Ana")
    assert confirms(f"chunk {near}")
