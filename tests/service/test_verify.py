"""The operation: bounds, and no oracle for what the caller may not see."""

from typing import Any

import pytest
from msgspec.structs import replace

from brain_daemon.errors import BadRequest, NotFound
from tests.service.world import ALICE, BOB, World


def test_a_claim_is_checked_against_a_chunk(world: World) -> None:
    chunk_id = world.remember("Ana moved to Lisbon – at last.", title="Ana")
    answer = world.call("verify", chunk_id=chunk_id, claim="moved to LISBON")
    assert answer == {"supported": True, "decision": "verbatim", "match_ranges": [[4, 19]]}
    refused = world.call("verify", chunk_id=chunk_id, claim="Ana moved to Porto")
    assert (refused["supported"], refused["decision"]) == (False, "partial")


def test_claims_are_bounded(world: World) -> None:
    chunk_id = world.remember("Ana")
    for claim in ("", "a" * 4097, "?"):
        with pytest.raises(BadRequest, match="claim"):
            world.call("verify", chunk_id=chunk_id, claim=claim)
    assert not world.call("verify", chunk_id=chunk_id, claim="a" * 4096)["supported"]


@pytest.mark.parametrize(
    ("by", "tags"),
    [
        (BOB, {}),
        (BOB, {"access_scope": "board"}),
        (ALICE, {"domain": "elsewhere"}),
        (ALICE, {"expires_at": "2020-01-01"}),
    ],
)
def test_what_is_not_visible_is_no_oracle(world: World, by: Any, tags: dict[str, Any]) -> None:
    chunk_id = world.remember("The code is 4711", by, **tags)
    me = replace(ALICE, domains=("default",))
    for claim in ("the code is 4711", "something else"):
        with pytest.raises(NotFound) as hidden:
            world.call("verify", me, chunk_id=chunk_id, claim=claim)
        with pytest.raises(NotFound) as absent:
            world.call("verify", me, chunk_id=chunk_id + 1, claim=claim)
        assert str(hidden.value) == str(absent.value).replace(str(chunk_id + 1), str(chunk_id))


def test_it_says_the_same_after_a_forget(world: World) -> None:
    chunk_id = world.remember("Ana moved")
    world.call("forget", id=chunk_id)
    with pytest.raises(NotFound):
        world.call("verify", chunk_id=chunk_id, claim="Ana moved")
