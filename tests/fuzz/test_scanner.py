"""The scanner and the framer against msgpack's own streaming decoder, on anything."""

import itertools
from typing import Any

import msgpack
from hypothesis import given, settings
from hypothesis import strategies as st

from brain_daemon._ext.framing import FramingError, InvalidByte, Scanner, TooDeep
from brain_daemon.protocol.framing import INCOMPLETE, Framer, FramingLost, Undecodable

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=40)
    | st.binary(max_size=40)
    | st.binary(min_size=250, max_size=300)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=30,
)
UNLIMITED = 2**40


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


def ends_by_msgpack(data: bytes) -> tuple[list[int], str]:
    """Where messages end in `data`, and why the last one does not."""
    unpacker = msgpack.Unpacker(
        max_buffer_size=2**31 - 1, max_str_len=2**32, max_bin_len=2**32, max_ext_len=2**32,
        max_array_len=2**32, max_map_len=2**32,
    )  # fmt: skip
    unpacker.feed(data)
    ends = []
    while True:
        try:
            unpacker.skip()
        except msgpack.OutOfData:
            return ends, "incomplete"
        except msgpack.FormatError:
            return ends, "invalid"
        except msgpack.StackError:
            return ends, "deep"
        ends.append(unpacker.tell())


def ends_by_scanner(pieces: list[bytes]) -> tuple[list[int], str]:
    scanner = Scanner(UNLIMITED, 256, UNLIMITED)
    ends, offset = [], 0
    for piece in pieces:
        start = 0
        while start < len(piece):
            try:
                end = scanner.feed(piece, start)
            except InvalidByte:
                return ends, "invalid"
            except TooDeep:
                return ends, "deep"
            if end == 0:
                break
            ends.append(offset + end)
            start = end
        offset += len(piece)
    return ends, "incomplete"


def agree(data: bytes, cuts: list[int]) -> None:
    ours, reason = ends_by_scanner(split(data, cuts))
    theirs, their_reason = ends_by_msgpack(data)
    if reason == "deep":
        assert ours == theirs[: len(ours)]
    else:
        assert (ours, reason) == (theirs, their_reason)


cuts = st.lists(st.integers(0, 10_000), max_size=10)


@given(st.lists(values, max_size=5), cuts)
def test_messages_come_out_as_they_went_in(messages: list[Any], at: list[int]) -> None:
    framer = Framer(1 << 20, 256, 100_000)
    found = []
    for piece in split(b"".join(map(msgpack.packb, messages)), at):
        framer.feed(piece)
        while (message := framer.next()) is not INCOMPLETE:
            found.append(message)
    assert found == messages
    assert not framer.in_message


@settings(max_examples=300)
@given(st.binary(max_size=200), cuts)
def test_garbage_is_cut_as_msgpack_cuts_it(data: bytes, at: list[int]) -> None:
    agree(data, at)


@settings(max_examples=300)
@given(
    st.lists(values, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4),
    cuts,
)
def test_mutated_messages_are_cut_as_msgpack_cuts_them(
    messages: list[Any], mutations: list[tuple[int, int]], at: list[int]
) -> None:
    data = bytearray(b"".join(map(msgpack.packb, messages)))
    for where, byte in mutations:
        data[where % len(data)] = byte
    agree(bytes(data), at)


@settings(max_examples=300)
@given(st.binary(max_size=100) | values.map(msgpack.packb), cuts)
def test_a_split_changes_neither_outcome_nor_error(data: bytes, at: list[int]) -> None:
    def outcome(pieces: list[bytes]) -> list[Any]:
        framer = Framer(60, 4, 10)
        found: list[Any] = []
        for piece in pieces:
            framer.feed(piece)
            while True:
                try:
                    message = framer.next()
                except Undecodable as error:
                    message = (error.kind, error.msgid, error.reason)
                except FramingLost as error:
                    return [*found, str(error)]
                if message is INCOMPLETE:
                    break
                found.append(message)
        return [*found, framer.in_message]

    assert repr(outcome([data])) == repr(outcome(split(data, at)))


@given(values)
def test_each_limit_is_the_least_that_lets_a_message_pass(value: Any) -> None:
    def measure(value: Any, depth: int) -> tuple[int, int]:
        if not isinstance(value, list | dict):
            return depth, 0
        inner = [*value, *value.values()] if isinstance(value, dict) else value
        found = [measure(item, depth + 1) for item in inner]
        return (
            max([depth + 1, *(d for d, _ in found)]),
            len(inner) + sum(n for _, n in found),
        )

    data = msgpack.packb(value)
    depth, n_items = measure(value, 0)
    exact = [len(data), max(depth, 1), max(n_items, 1)]
    assert Scanner(*exact).feed(data) == len(data)
    for i, needed in enumerate((len(data), depth, n_items)):
        if needed > 1:
            tight = exact.copy()
            tight[i] = needed - 1
            try:
                Scanner(*tight).feed(data)
            except FramingError:
                continue
            raise AssertionError(f"limit {i} did not hold: {tight}")
