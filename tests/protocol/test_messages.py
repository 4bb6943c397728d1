from typing import Any

import msgpack
import pytest

from brain_daemon.protocol.messages import Encoder, Malformed, parse_call


@pytest.mark.parametrize("arguments", [[], [{}]])
def test_a_call_without_parameters(arguments: list[Any]) -> None:
    assert parse_call([0, 5, "ping", arguments]) == (5, "ping", {})


def test_request_and_notification() -> None:
    assert parse_call([0, 2**32 - 1, "get", [{"id": 1}]]) == (2**32 - 1, "get", {"id": 1})
    assert parse_call([2, "get", [{"id": 1}]]) == (None, "get", {"id": 1})


@pytest.mark.parametrize(
    ("message", "msgid"),
    [
        ([], None),
        ([0], None),
        ([0, 5], 5),
        ([0, 5, "ping"], 5),
        ([0, 5, "ping", [{}], None], 5),
        ([0, 5, 7, [{}]], 5),
        ([0, 5, b"ping", [{}]], 5),
        ([0, 5, "ping", {}], 5),
        ([0, 5, "ping", None], 5),
        ([0, 5, "ping", [1]], 5),
        ([0, 5, "ping", [{}, {}]], 5),
        ([0, 5, "ping", [{b"k": 1}]], 5),
        ([0, -1, "ping", [{}]], None),
        ([0, 2**32, "ping", [{}]], None),
        ([0, True, "ping", [{}]], None),
        ([0, "5", "ping", [{}]], None),
        ([0, None, "ping", [{}]], None),
        ([False, 5, "ping", [{}]], None),
        ([1, 5, None, "pong"], None),
        ([3, 5, "ping", [{}]], None),
        ([[], 5, "ping", [{}]], None),
        ({}, None),
        ("ping", None),
    ],
)
def test_anything_else_is_malformed(message: Any, msgid: int | None) -> None:
    with pytest.raises(Malformed) as caught:
        parse_call(message)
    assert caught.value.msgid == msgid
    assert not caught.value.foreign
    assert not caught.value.notification


@pytest.mark.parametrize("message", [[2, 5, [{}]], [2, "m"], [2, "m", 5], [2, "m", [{}], 1]])
def test_a_malformed_notification_is_not_to_be_answered(message: list[Any]) -> None:
    with pytest.raises(Malformed) as caught:
        parse_call(message)
    assert caught.value.notification


@pytest.mark.parametrize("message", [71, -1, None, True, 1.5])
def test_a_bare_scalar_is_of_another_protocol(message: Any) -> None:
    with pytest.raises(Malformed) as caught:
        parse_call(message)
    assert caught.value.foreign


def test_encoder() -> None:
    encoder = Encoder()
    assert msgpack.unpackb(encoder.request(3, "get", {"id": 1})) == [0, 3, "get", [{"id": 1}]]
    assert msgpack.unpackb(encoder.response(None, {"code": "x"}, None)) == [
        1,
        None,
        {"code": "x"},
        None,
    ]
    big = b"x" * 3_000_000
    assert msgpack.unpackb(encoder.response(3, None, big)) == [1, 3, None, big]
    with pytest.raises(OverflowError):
        encoder.response(3, None, [1, 2**70])
    assert msgpack.unpackb(encoder.response(3, None, 1)) == [1, 3, None, 1]
