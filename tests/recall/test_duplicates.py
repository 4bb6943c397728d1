"""Copies take one place; what differs in a word or a tag keeps its own."""

from typing import Any

import pytest

from brain_daemon.recall.duplicates import group
from tests.index.stores import BOB
from tests.recall.memories import Memories

TEXT = "The spare key hangs behind the blue door"


def answer(store: Memories, q: str = "spare key door", **params: Any) -> list[list[int]]:
    """The ids of the sources of each hit."""
    hits = store.recall(q, abstain=False, **params)["hits"]
    assert all(hit["sources"][0]["id"] == hit["id"] for hit in hits)
    return [[source["id"] for source in hit["sources"]] for hit in hits]


def test_copies_are_one_hit_with_all_its_sources(memories: Memories) -> None:
    copies = [memories.add(TEXT, uri=f"file:///{i}.md", title=f"T{i}") for i in range(3)]
    other = memories.add("The spare key hangs behind the green door", uri="file:///g.md")
    found = answer(memories)
    assert sorted(map(sorted, found)) == sorted([copies, [other]])
    assert {s["uri"] for s in memories.recall(TEXT, abstain=False)["hits"][0]["sources"]} == {
        f"file:///{i}.md" for i in range(3)
    }


def test_copies_leave_their_places_to_others(memories: Memories) -> None:
    for i in range(4):
        memories.add(TEXT, uri=f"c{i}", node_kind="note")
    others = [memories.add(f"A spare key, number {i}", uri=f"o{i}") for i in range(3)]
    found = answer(memories, k=3)
    assert len(found) == 3
    assert {id_ for ids in found for id_ in ids} & set(others)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_many_copies_do_not_crowd_others_out(memories: Memories, k: int) -> None:
    copies = [memories.add(TEXT, uri=f"c{i}") for i in range(40)]
    others = [memories.add(f"A key, number {i}", uri=f"o{i}") for i in range(6)]
    first, *following = answer(memories, k=k)
    assert len(following) == k - 1
    assert {id_ for ids in following for id_ in ids} <= set(others)
    assert k == 1 or sorted(first) == copies


def test_a_source_tells_what_it_is_called(memories: Memories) -> None:
    for title in ("Berlin", "Paris"):
        memories.add("Opens at nine", uri=title, title=title)
    (hit,) = memories.recall("opens at nine", abstain=False)["hits"]
    assert {(s["title"], *s["heading_path"]) for s in hit["sources"]} == {("Berlin",), ("Paris",)}


@pytest.mark.parametrize(
    "tag",
    [
        {"pii": True},
        {"domain": "elsewhere"},
        {"access_scope": "team"},
        {"node_kind": "note"},
        {"lawful_basis": "consent"},
        {"region": "EU"},
    ],
    ids=lambda tag: next(iter(tag)),
)
def test_tags_keep_copies_apart(memories: Memories, tag: dict[str, Any]) -> None:
    plain = memories.add(TEXT, uri="a")
    tagged = memories.add(TEXT, uri="b", **tag)
    assert sorted(answer(memories)) == [[plain], [tagged]]


def test_a_copy_that_one_may_not_see_is_no_source(memories: Memories) -> None:
    mine = memories.add(TEXT, uri="a")
    theirs = memories.add(TEXT, uri="a", owner="bob")
    assert answer(memories) == [[mine]]
    hits = memories.recall("spare key", BOB, abstain=False)["hits"]
    assert [source["id"] for source in hits[0]["sources"]] == [theirs]


def test_every_copy_is_forgotten_alone(memories: Memories) -> None:
    first = memories.add(TEXT, uri="a")
    second = memories.add(TEXT, uri="b")
    memories.forget(first)
    assert answer(memories) == [[second]]


def test_nothing_is_nothing() -> None:
    assert group([None]) == []
