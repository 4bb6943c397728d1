"""Expiry hides at the instant, removes nothing, and a person decides what follows."""

from typing import Any

import pytest
from msgspec.structs import replace

from brain_daemon.errors import BadRequest, Forbidden, NotFound
from brain_daemon.timestamps import format_us, now_us
from tests.service.world import ALICE, BOB, World

OPERATOR = replace(ALICE, roles=ALICE.roles | {"operator"}, domains=("default", "home"))
PAST = "2020-01-01"


def ids(answer: dict[str, Any]) -> list[int]:
    return [chunk["id"] for chunk in answer["chunks"]]


def recalled(world: World, q: str, **params: Any) -> list[int]:
    return [hit["id"] for hit in world.call("recall", OPERATOR, q=q, **params)["hits"]]


def test_the_last_expired_stand_first_and_ties_by_id(world: World) -> None:
    older = world.remember("zebra one", expires_at="2019-01-01")
    ties = [world.remember(f"zebra {i}", expires_at=PAST) for i in range(3)]
    world.remember("zebra for good")
    world.remember("zebra of tomorrow", expires_at="2999-01-01")
    answer = world.call("decayed", OPERATOR)
    assert ids(answer) == [*ties, older]
    assert answer["n_decayed"] == 4
    assert answer["chunks"][0]["text"] == "zebra 0"
    cut = world.call("decayed", OPERATOR, k=2)
    assert (ids(cut), cut["n_decayed"]) == (ties[:2], 4)


@pytest.mark.parametrize(
    ("by", "tags"),
    [(BOB, {}), (BOB, {"access_scope": "board"}), (ALICE, {"domain": "elsewhere"})],
)
def test_what_one_may_not_see_is_not_listed_and_not_counted(
    world: World, by: Any, tags: dict[str, Any]
) -> None:
    for i in range(20):
        world.remember(f"a secret {i} of Ana", by, expires_at="2021-01-01", **tags)
    own = world.remember("Ana", expires_at=PAST)
    answer = world.call("decayed", OPERATOR, k=1)
    assert (ids(answer), answer["n_decayed"]) == ([own], 1)


def test_domain_narrows(world: World) -> None:
    world.remember("one", expires_at=PAST)
    home = world.remember("two", expires_at=PAST, domain="home")
    assert ids(world.call("decayed", OPERATOR, domain="h*")) == [home]


@pytest.mark.parametrize("until", ["2999-01-01", None])
def test_what_is_extended_is_recalled_again_under_its_ids(world: World, until: Any) -> None:
    chunk_id = world.remember("The zebra is striped", expires_at=PAST, entities=["Zebra"])
    others = [world.remember(f"An ocelot {i}") for i in range(3)]
    assert recalled(world, "zebra ocelot", k=9) == others
    (chunk,) = world.call("decayed", OPERATOR)["chunks"]
    result = world.call(
        "decay.extend", OPERATOR, document_id=chunk["document_id"], expires_at=until
    )
    assert result["chunk_ids"] == [chunk_id]
    assert recalled(world, "zebra")[0] == chunk_id
    assert world.call("decayed", OPERATOR)["n_decayed"] == 0
    expires_at = world.call("get", id=chunk_id)["expires_at"]
    assert expires_at == result["expires_at"] == (until and "2999-01-01T00:00:00Z")
    assert world.call("graph.entity", name="zebra")["chunk_ids"] == [chunk_id]
    world.memory.reload(world.memory.reader())
    assert recalled(world, "zebra")[0] == chunk_id


def test_an_earlier_expiry_hides_at_that_instant(world: World) -> None:
    made = world.call("remember", text="The zebra is striped")
    soon_us = now_us() + 400_000
    world.call("recall", OPERATOR, q="zebra")  # a mask that knows of no expiry is cached
    world.call("decay.extend", OPERATOR, document_id=made["id"], expires_at=format_us(soon_us))
    while now_us() < soon_us:
        recalled(world, "zebra")
    assert recalled(world, "zebra") == []
    assert recalled(world, "zebra", include_decayed=True) == made["chunk_ids"]
    assert ids(world.call("decayed", OPERATOR)) == made["chunk_ids"]


def test_new_memories_after_an_extension_expire_on_their_own(world: World) -> None:
    first = world.call("remember", text="zebra one", expires_at=PAST)
    world.call("decay.extend", OPERATOR, document_id=first["id"], expires_at=None)
    later = world.remember("zebra two", expires_at=PAST)
    last = world.remember("zebra three")
    assert sorted(recalled(world, "zebra")) == [*first["chunk_ids"], last]
    assert ids(world.call("decayed", OPERATOR)) == [later]


def test_the_same_content_stored_again_keeps_the_extension(world: World) -> None:
    again = {"text": "zebra", "uri": "z", "expires_at": PAST}
    made = world.call("remember", **again)
    world.call("decay.extend", OPERATOR, document_id=made["id"], expires_at=None)
    assert world.call("remember", **again)["unchanged"]
    assert recalled(world, "zebra") == made["chunk_ids"]


def test_what_has_expired_can_be_forgotten(world: World) -> None:
    chunk_id = world.remember("zebra", expires_at=PAST)
    world.call("forget", id=chunk_id)
    assert world.call("decayed", OPERATOR) == {"chunks": [], "n_decayed": 0}


def test_a_time_that_is_past_or_none_is_refused(world: World) -> None:
    made = world.call("remember", text="zebra", expires_at=PAST)
    for given in ("2021-01-01", "2026-02-30", True):
        with pytest.raises(BadRequest, match="expires_at"):
            world.call("decay.extend", OPERATOR, document_id=made["id"], expires_at=given)
    with pytest.raises(BadRequest, match="expires_at is missing"):
        world.call("decay.extend", OPERATOR, document_id=made["id"])


def test_only_operators_and_only_their_own(world: World) -> None:
    theirs = world.call("remember", BOB, text="zebra", access_scope="team", expires_at=PAST)
    for method, params in (
        ("decayed", {}),
        ("decay.extend", {"document_id": theirs["id"], "expires_at": None}),
    ):
        with pytest.raises(Forbidden):
            world.call(method, ALICE, **params)
    for document_id in (theirs["id"], 999):
        with pytest.raises(NotFound, match="no document"):
            world.call("decay.extend", OPERATOR, document_id=document_id, expires_at=None)


def test_nothing_fades_with_age(world: World) -> None:
    old = world.remember("The zebra is striped", created_at="1950-01-01")
    new = world.remember("Striped is the zebra", created_at="2025-01-01")
    hits = world.call("recall", OPERATOR, q="striped zebra")["hits"]
    legs = {hit["id"]: hit["provenance"]["lexical"]["bm25"] for hit in hits}
    assert legs[old] == legs[new]
    assert [hit["id"] for hit in hits] == [old, new]
