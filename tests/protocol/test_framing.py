import sys
from typing import Any

import msgpack
import pytest

from brain_daemon.errors import BadRequest, TooLarge
from brain_daemon.protocol.framing import (
    INCOMPLETE,
    LARGE,
    SLICE_BYTES,
    Framer,
    FramingLost,
    Limits,
    Undecodable,
)


def framer(**changed: int) -> Framer:
    limits = {"max_bytes": 1 << 20, "max_depth": 32, "max_items": 100_000} | changed
    return Framer(**limits)


MESSAGES = [
    [0, 1, "ping", [{}]],
    [1, 2, None, {"α": [1.5, -3, None, True, b"\x00\xff"], "long": "x" * 70_000}],
    {"a": 2**64 - 1, "b": -(2**63)},
    None,
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000, 1 << 20])
def test_any_split_gives_the_same_messages(size: int) -> None:
    stream = b"".join(map(msgpack.packb, MESSAGES))
    cut = framer()
    found = []
    for i in range(0, len(stream), size):
        cut.feed(stream[i : i + size])
        while (message := cut.next()) is not INCOMPLETE:
            found.append(message)
    assert found == MESSAGES
    assert not cut.in_message
    assert not cut.has_unread


def test_bytes_may_be_fed_while_messages_are_unread() -> None:
    cut = framer()
    cut.feed(b"\x01\x02\x91")
    assert cut.next() == 1
    cut.feed(b"\x05\x06")
    assert cut.has_unread
    assert [cut.next() for _ in range(3)] == [2, [5], 6]
    assert cut.next() is INCOMPLETE


def test_says_whether_a_message_is_half_there() -> None:
    cut = framer()
    cut.feed(b"\x01\x92")
    cut.next()
    assert cut.next() is INCOMPLETE
    assert cut.in_message
    assert not cut.has_unread


@pytest.mark.parametrize(
    ("data", "limits", "error"),
    [
        (b"\xdb\xff\xff\xff\xff", {}, TooLarge),
        (b"\xdd\xff\xff\xff\xff", {}, TooLarge),
        (b"\xda\x01\x00", {"max_bytes": 200}, TooLarge),
        (b"\xdc\x01\x00" + b"\x90" * 256, {"max_items": 255}, TooLarge),
        (b"\x91" * 2000, {}, BadRequest),
        (b"\x91\x91\x90", {"max_depth": 2}, BadRequest),
        (b"\xc1", {}, BadRequest),
    ],
)
def test_a_broken_limit_ends_the_stream(
    data: bytes, limits: dict[str, int], error: type[Exception]
) -> None:
    cut = framer(**limits)
    cut.feed(data)
    with pytest.raises(FramingLost) as caught:
        cut.next()
    assert type(caught.value.error) is error


@pytest.mark.parametrize(
    ("data", "kind", "msgid"),
    [
        (b"\xa1\xff", None, None),
        (b"\x94\x00\x09\xa4ping\x91\x81\xa1q\xa1\xff", 0, 9),
        (b"\x94\x00\x09\xa4ping\x91\x81\x01\x02", 0, 9),
        (b"\x94\x00\x09\xa4ping\x91\x81\x80\x02", 0, 9),
        (b"\x94\x00\x09\xa4ping\x91\xd4\x05\x00", 0, 9),
        (b"\x93\x02\xa1\xff\x90", 2, None),
        (b"\xdd\x00\x00\x00\x04\x00\xce\x00\x01\x00\x00\xa1\xff\x90", 0, 65536),
        (b"\x91\xa1\xff", None, None),
        (msgpack.packb([0, 9, "x", [{"t": msgpack.Timestamp(5)}]]), 0, 9),
    ],
)
def test_an_undecodable_message_is_skipped_and_named(
    data: bytes, kind: int | None, msgid: int | None
) -> None:
    cut = framer()
    cut.feed(data + b"\x05")
    with pytest.raises(Undecodable) as caught:
        cut.next()
    assert (caught.value.kind, caught.value.msgid) == (kind, msgid)
    assert cut.next() == 5


def test_a_dribbled_message_costs_linear_time() -> None:
    # Rescanning or copying at each byte would move 125 GB here and run into the time-out.
    message = msgpack.packb("x" * 500_000)
    cut = framer()
    for i in range(len(message) - 1):
        cut.feed(message[i : i + 1])
        assert cut.next() is INCOMPLETE
    cut.feed(message[-1:])
    assert len(cut.next()) == 500_000


@pytest.mark.parametrize("name", ["max_message_bytes", "max_in_flight", "call_timeout_s"])
def test_limits_must_be_positive(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: 0})


def sliced(cut: Framer) -> Any:
    *incomplete, message = cut.slices()
    assert all(piece is INCOMPLETE for piece in incomplete)
    return message, len(incomplete)


def test_a_message_of_many_entries_is_decoded_in_slices() -> None:
    cut = framer(max_items_at_once=100)
    small, large = [0] * 100, [[i] for i in range(20_000)]
    cut.feed(msgpack.packb(small) + msgpack.packb(large) + msgpack.packb("next"))
    assert cut.next() == small
    assert cut.next() is LARGE
    assert cut.n_items == 40_000
    assert cut.n_held_bytes == cut.n_message_bytes == len(msgpack.packb(large))
    assert sliced(cut) == (large, (len(msgpack.packb(large)) - 1) // SLICE_BYTES)
    assert cut.n_held_bytes == 0
    assert cut.next() == "next"


def test_an_idle_framer_keeps_no_bytes() -> None:
    cut = framer()
    data = msgpack.packb("x" * 100_000)
    fed = data + b"\x01"
    n_before = sys.getrefcount(fed)
    cut.feed(fed)
    assert [cut.next(), cut.next()] == ["x" * 100_000, 1]
    assert cut.next() is INCOMPLETE
    assert sys.getrefcount(fed) == n_before
