from typing import Annotated, Any

import msgspec
import pytest

from brain_daemon.errors import BadRequest
from brain_daemon.params import decode


class Inner(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    name: str


class Params(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    n: Annotated[int, msgspec.Meta(ge=1)]
    share: float = 0.5
    inner: Annotated[tuple[Inner, ...], msgspec.Meta(max_length=2)] = ()
    table: dict[str, int] | None = None
    id: Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)] = 1


def test_converts() -> None:
    assert decode({"n": 2, "inner": [{"name": "x"}]}, Params) == Params(2, inner=(Inner("x"),))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n": 0}, "n is not accepted: it is 0; give an integer of at least 1"),
        ({"n": False}, "n is not accepted: it is False; give an integer of at least 1"),
        ({}, "the parameter n is missing; give an integer of at least 1"),
        ({"n": 1, "share": "1"}, "share is not accepted: it is '1'; give a number"),
        (
            {"n": 1, "inner": [{"name": 1}]},
            "inner[0].name is not accepted: it is 1; give a string",
        ),
        (
            {"n": 1, "inner": [{"name": "x"}, {"nam": "x"}]},
            "unknown parameter 'inner[1].nam'; accepted are name",
        ),
        ({"n": 1, "inner": [{}]}, "the parameter inner[0].name is missing; give a string"),
        (
            {"n": 1, "inner": [{"name": "x"}] * 3},
            "inner is not accepted: it is [{'name': 'x'}, {'name': 'x'}, {'name': 'x'}]; give a "
            "list of at most 2 items, each a map with the keys name",
        ),
        (
            {"n": 1, "table": {"a": "b"}},
            "table[...] is not accepted: it is {'a': 'b'}; give a map, or nil",
        ),
        (
            {"n": 1, "id": 0},
            "id is not accepted: it is 0; give an integer of 1 to 9,223,372,036,854,775,807",
        ),
        ({"n": 1, "m": 2}, "unknown parameter 'm'; accepted are n, share, inner, table, id"),
        ({"n": 1, 2: 3}, "parameter names are strings, one of n, share, inner, table, id; got [2]"),
        ([1], "the parameters are [1]; give one map with the keys n, share, inner, table, id"),
    ],
)
def test_messages_state_field_value_and_cure(params: Any, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        decode(params, Params)
    assert caught.value.message == message


def test_long_values_are_cut() -> None:
    with pytest.raises(BadRequest) as caught:
        decode({"n": "x" * 1_000_000}, Params)
    assert len(caught.value.message) < 200


def test_of_a_long_value_only_the_beginning_is_looked_at() -> None:
    class Shown:
        n_times = 0

        def __repr__(self) -> str:
            Shown.n_times += 1
            return "shown"

    class OneNumber(msgspec.Struct, forbid_unknown_fields=True):
        number: int

    with pytest.raises(BadRequest, match=r"it is \[\[shown, shown"):
        decode({"number": [[Shown() for _ in range(1000)]]}, OneNumber)
    assert Shown.n_times < 20
