"""The graph operations: what they tell, and what nobody else's secrets can make them tell."""

from typing import Any

import pytest
from msgspec.structs import replace

from brain_daemon.errors import BadRequest, NotFound
from tests.service.world import ALICE, BOB, World

WORKS_AT = {"subject": "Ana", "relation": "works_at", "object": "Initech"}


def state(world: World, *relations: tuple[str, str, str], by: Any = ALICE, **tags: Any) -> int:
    named = [dict(zip(("subject", "relation", "object"), r, strict=True)) for r in relations]
    return world.remember("noted", by, relations=named, **tags)


def stated(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(r["subject"], r["relation"], r["object"]) for r in answer["relations"]]


def reached(answer: dict[str, Any]) -> list[tuple[str, int]]:
    return [(entity["name"], entity["depth"]) for entity in answer["reached"]]


def test_an_entity_is_described_by_its_evidence(world: World) -> None:
    first = world.remember("text", entities=["Ana"])
    second = state(world, ("Ana", "works_at", "Initech"))
    world.remember("another text")
    assert world.call("graph.entity", name="ANA") == {
        "name": "Ana",
        "kind": "explicit",
        "n_chunks": 2,
        "chunk_ids": [first, second],
        "n_relations": 1,
    }
    assert world.call("graph.entity", name="ana", limit=1)["chunk_ids"] == [first]


@pytest.mark.parametrize("method", ["graph.entity", "graph.relations", "graph.traverse"])
def test_a_name_that_nobody_mentions_is_not_found(world: World, method: str) -> None:
    with pytest.raises(NotFound, match="Nobody"):
        world.call(method, name="Nobody")
    with pytest.raises(NotFound):
        world.call(method, name="\u200b")


def test_relations_come_with_their_evidence_the_earliest_first(world: World) -> None:
    first = state(world, ("Ana", "works_at", "Initech"), ("Bob", "knows", "Ana"))
    second = state(world, ("Ana", "lives_in", "Lisbon"), ("ana", "works_at", "INITECH"))
    answer = world.call("graph.relations", name="Ana")
    assert stated(answer) == [
        ("Bob", "knows", "Ana"),
        ("Ana", "works_at", "Initech"),
        ("Ana", "lives_in", "Lisbon"),
    ]
    assert [r["chunk_ids"] for r in answer["relations"]] == [[first], [first, second], [second]]
    assert answer["n_relations"] == 3
    assert stated(world.call("graph.relations", name="Ana", relation="lives_in")) == [
        ("Ana", "lives_in", "Lisbon")
    ]
    cut = world.call("graph.relations", name="Ana", limit=1)
    assert (len(cut["relations"]), cut["n_relations"]) == (1, 3)


def test_evidence_is_named_up_to_a_bound_and_counted_beyond(world: World) -> None:
    ids = [state(world, ("Ana", "works_at", "Initech"), uri=f"u{n}") for n in range(20)]
    (relation,) = world.call("graph.relations", name="Ana")["relations"]
    assert (relation["chunk_ids"], relation["n_chunks"]) == (ids[:16], 20)
    (hop,) = world.call("graph.traverse", name="Ana")["reached"][0]["hops"]
    assert (hop["chunk_ids"], hop["n_chunks"]) == (ids[:16], 20)


def test_a_walk_explains_every_hop(world: World) -> None:
    first = state(world, ("Ana", "works_at", "Initech"))
    second = state(world, ("Lisbon", "hosts", "Initech"))
    state(world, ("Lisbon", "part_of", "Portugal"))
    answer = world.call("graph.traverse", name="ana", depth=2)
    assert reached(answer) == [("Initech", 1), ("Lisbon", 2)]
    assert answer["reached"][1]["hops"] == [
        {**WORKS_AT, "chunk_ids": [first], "n_chunks": 1},
        {
            "subject": "Lisbon",
            "relation": "hosts",
            "object": "Initech",
            "chunk_ids": [second],
            "n_chunks": 1,
        },
    ]
    assert (answer["visited"], answer["truncated"]) == (3, False)
    assert len(world.call("graph.traverse", name="ana", depth=3)["reached"]) == 3


def test_a_walk_takes_the_shortest_way_and_ends_in_a_circle(world: World) -> None:
    state(world, ("A1", "to", "B1"), ("B1", "to", "C1"), ("C1", "to", "A1"), ("C1", "to", "D1"))
    assert reached(world.call("graph.traverse", name="A1", depth=4)) == [
        ("B1", 1), ("C1", 1), ("D1", 2),
    ]  # fmt: skip


def test_a_walk_is_bounded_in_depth_and_in_entities(world: World) -> None:
    state(world, *((f"N{i}", "then", f"N{i + 1}") for i in range(6)))
    assert reached(world.call("graph.traverse", name="N0", depth=4))[-1] == ("N4", 4)
    with pytest.raises(BadRequest, match="depth"):
        world.call("graph.traverse", name="N0", depth=5)
    for part in range(2):
        state(world, *(("Hub", "has", f"Leaf {part}.{i}") for i in range(150)))
    answer = world.call("graph.traverse", name="Hub", depth=1)
    assert (answer["visited"], len(answer["reached"]), answer["truncated"]) == (256, 255, True)
    assert answer == world.call("graph.traverse", name="Hub", depth=1)


def test_kind_and_relation_narrow_a_walk(world: World) -> None:
    world.call(
        "ingest_markdown",
        uri="boat.md",
        content="---\ntags: [ship]\n---\n# Nautilus\n\n[[captain::Nemo]]\n",
    )
    everything = reached(world.call("graph.traverse", name="Nautilus", depth=1))
    assert {name for name, _ in everything} == {"ship", "Nemo", "boat"}
    of_kind = world.call("graph.traverse", name="Nautilus", depth=1, kind="tag")
    assert reached(of_kind) == [("ship", 1)]
    assert of_kind["visited"] == 4  # the walk itself goes through all
    assert reached(world.call("graph.traverse", name="Nautilus", relation="captain")) == [
        ("Nemo", 1)
    ]


@pytest.mark.parametrize(
    ("hidden", "tags"),
    [
        ("owner", {"by": BOB}),
        ("scope", {"by": BOB, "access_scope": "board"}),
        ("domain", {"domain": "elsewhere"}),
        ("expiry", {"expires_at": "2020-01-01"}),
    ],
)
def test_secrets_that_share_an_entity_are_never_walked_through(
    world: World, hidden: str, tags: dict[str, Any]
) -> None:
    secret = ("Initech", "owes", "Zanzibar")
    state(world, secret, ("Ana", "hates", "Initech"), **tags)
    me = replace(ALICE, domains=("default",))

    def seen() -> list[Any]:
        walk = world.call("graph.traverse", me, name="Ana", depth=4)
        about = world.call("graph.relations", me, name="Initech")
        entity = world.call("graph.entity", me, name="Initech")
        return [walk, about, entity]

    own = [state(world, ("Ana", "works_at", "Initech"))]
    walk, about, entity = seen()
    assert reached(walk) == [("initech", 1)]
    assert walk["reached"][0]["hops"][0]["chunk_ids"] == own
    assert [r["relation"] for r in about["relations"]] == ["works_at"]
    assert about["n_relations"] == 1
    assert (entity["chunk_ids"], entity["n_chunks"], entity["n_relations"]) == (own, 1, 1)
    for method in ("graph.entity", "graph.relations", "graph.traverse"):
        with pytest.raises(NotFound) as absent:
            world.call(method, me, name="Zanzibar")
        with pytest.raises(NotFound) as never:
            world.call(method, me, name="Zanzibax")
        assert str(absent.value).replace("bar", "bax") == str(never.value)


def test_a_spelling_is_not_told_to_who_cannot_see_it(world: World) -> None:
    state(world, ("PROJECT X", "runs", "Hidden"), by=BOB)
    state(world, ("Project X", "has", "budget"))
    assert world.call("graph.entity", name="project x")["name"] == "project x"
    assert world.call("graph.entity", BOB, name="project x")["name"] == "PROJECT X"


def test_a_shared_scope_is_seen_by_both(world: World) -> None:
    state(world, ("Ana", "works_at", "Initech"), by=BOB, access_scope="team")
    assert stated(world.call("graph.relations", name="Ana")) == [("Ana", "works_at", "Initech")]


def test_domain_narrows_to_what_it_states(world: World) -> None:
    state(world, ("Ana", "works_at", "Initech"), domain="work")
    state(world, ("Ana", "lives_in", "Lisbon"), domain="home")
    assert stated(world.call("graph.relations", name="Ana", domain="home")) == [
        ("ana", "lives_in", "Lisbon")  # the spelling is that of the other domain's text
    ]
    assert world.call("graph.traverse", name="Ana", domain="w*")["visited"] == 2
    with pytest.raises(NotFound):
        world.call("graph.entity", name="Lisbon", domain="work")


def test_edges_die_with_their_evidence(world: World) -> None:
    first = state(world, ("Ana", "works_at", "Initech"))
    second = state(world, ("Ana", "works_at", "Initech"), node_kind="note")
    world.call("forget", id=first)
    (left,) = world.call("graph.relations", name="Ana")["relations"]
    assert left["chunk_ids"] == [second]
    world.call("forget", id=second)
    with pytest.raises(NotFound):
        world.call("graph.relations", name="Ana")


def test_a_link_is_a_memory_that_says_it_in_words(world: World) -> None:
    made = world.call("link", **WORKS_AT)
    assert made["created"]
    (hit,) = world.call("recall", q="where does Ana work")["hits"]
    assert (hit["text"], hit["source"]) == ("Ana works at Initech", "manual")
    assert stated(world.call("graph.relations", name="Initech")) == [("Ana", "works_at", "Initech")]
    assert world.call("link", **WORKS_AT)["unchanged"]
    assert world.call("link", **{**WORKS_AT, "subject": " ana "})["document_id"] == made["id"]


def test_unlink_takes_back_the_callers_own_link_and_no_more(world: World) -> None:
    text = state(world, ("Ana", "works_at", "Initech"))
    made = world.call("link", **WORKS_AT)
    others = world.call("link", BOB, **WORKS_AT, access_scope="team")
    assert world.call("unlink", **WORKS_AT) == {
        "document_ids": [made["id"]],
        "chunk_ids": made["chunk_ids"],
    }
    (left,) = world.call("graph.relations", name="Ana")["relations"]
    assert left["chunk_ids"] == [text, *others["chunk_ids"]]
    with pytest.raises(NotFound, match="no link"):
        world.call("unlink", **WORKS_AT)
    assert world.call("recall", q="Ana works")["hits"][0]["document_id"] == others["id"]


def test_unlink_leaves_a_memory_that_only_bears_such_a_uri(world: World) -> None:
    chunk_id = world.remember("Ana keeps bees", uri="link:ana/keeps/bees")
    with pytest.raises(NotFound):
        world.call("unlink", subject="Ana", relation="keeps", object="Bees")
    assert world.call("get", id=chunk_id)["text"] == "Ana keeps bees"


def test_a_link_of_another_domain_is_another_link(world: World) -> None:
    world.call("link", **WORKS_AT, domain="work")
    with pytest.raises(NotFound, match="domain default"):
        world.call("unlink", **WORKS_AT)
    world.call("unlink", **WORKS_AT, domain="work")


@pytest.mark.parametrize(
    "ends", [("Ana", "is", "ANA"), ("\u200b", "is", "Ana"), ("Ana", " ", "Bob")]
)
def test_a_link_joins_two_entities(world: World, ends: tuple[str, str, str]) -> None:
    given = dict(zip(("subject", "relation", "object"), ends, strict=True))
    with pytest.raises(BadRequest, match="two names"):
        world.call("link", **given)


def test_a_link_that_expired_is_no_edge(world: World) -> None:
    world.call("link", **WORKS_AT, expires_at="2020-01-01")
    with pytest.raises(NotFound):
        world.call("graph.relations", name="Ana")
