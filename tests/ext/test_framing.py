"""The scanner by itself: ends, limits at the header, resumption."""

import msgpack
import pytest

from brain_daemon._ext.framing import (
    FramingError,
    InvalidByte,
    Scanner,
    Splitter,
    TooDeep,
    TooManyBytes,
    TooManyItems,
)

VALUES = {
    "positive fixint": b"\x7f",
    "negative fixint": b"\xe0",
    "nil": b"\xc0",
    "false": b"\xc2",
    "true": b"\xc3",
    "uint 8": b"\xcc\xff",
    "uint 16": b"\xcd\xff\xff",
    "uint 32": b"\xce" + b"\xff" * 4,
    "uint 64": b"\xcf" + b"\xff" * 8,
    "int 8": b"\xd0\x80",
    "int 16": b"\xd1\x80\x00",
    "int 32": b"\xd2" + b"\x80" * 4,
    "int 64": b"\xd3" + b"\x80" * 8,
    "float 32": b"\xca" + bytes(4),
    "float 64": b"\xcb" + bytes(8),
    "fixstr": b"\xa3abc",
    "empty fixstr": b"\xa0",
    "str 8": b"\xd9\x03abc",
    "empty str 8": b"\xd9\x00",
    "str 16": b"\xda\x00\x03abc",
    "str 32": b"\xdb\x00\x00\x00\x03abc",
    "bin 8": b"\xc4\x03abc",
    "bin 16": b"\xc5\x00\x03abc",
    "bin 32": b"\xc6\x00\x00\x00\x03abc",
    "fixext 1": b"\xd4\x05a",
    "fixext 2": b"\xd5\x05ab",
    "fixext 4": b"\xd6\x05abcd",
    "fixext 8": b"\xd7\x05" + bytes(8),
    "fixext 16": b"\xd8\x05" + bytes(16),
    "ext 8": b"\xc7\x03\x05abc",
    "empty ext 8": b"\xc7\x00\x05",
    "ext 16": b"\xc8\x00\x03\x05abc",
    "ext 32": b"\xc9\x00\x00\x00\x03\x05abc",
    "fixarray": b"\x92\xa1a\x90",
    "empty fixarray": b"\x90",
    "array 16": b"\xdc\x00\x02\x01\x02",
    "array 32": b"\xdd\x00\x00\x00\x02\x01\x02",
    "fixmap": b"\x81\xa1a\x80",
    "empty map 16": b"\xde\x00\x00",
    "map 32": b"\xdf\x00\x00\x00\x01\xa1a\x93\x01\x02\x03",
    "nested": b"\x93\x91\x91\x90\x81\xa1k\x92\x01\x90\xa1z",
}


def scanner(max_bytes: int = 1 << 40, max_depth: int = 32, max_items: int = 1 << 40) -> Scanner:
    return Scanner(max_bytes, max_depth, max_items)


@pytest.mark.parametrize("name", VALUES)
def test_finds_the_end_of_each_format(name: str) -> None:
    value = VALUES[name]
    unpacker = msgpack.Unpacker(ext_hook=lambda code, data: (code, data))
    unpacker.feed(value)
    unpacker.skip()
    assert unpacker.tell() == len(value), "the case itself is wrong"
    assert scanner().feed(value + b"\x00\x00") == len(value)
    assert scanner().feed(b"\xc1\xc1" + value, 2) == len(value) + 2


@pytest.mark.parametrize("name", VALUES)
def test_resumes_at_every_byte(name: str) -> None:
    value = VALUES[name]
    scan = scanner()
    for i, byte in enumerate(value):
        assert scan.in_message == (i > 0)
        assert scan.feed(bytes([byte])) == (1 if i == len(value) - 1 else 0)
    assert not scan.in_message
    assert scan.extension == ("ext" in name)


def test_follows_one_message_after_another() -> None:
    stream = b"".join(VALUES.values())
    scan = scanner()
    ends, start = [], 0
    while start < len(stream):
        start = scan.feed(stream, start)
        ends.append(start)
    lengths = [len(value) for value in VALUES.values()]
    assert ends == [sum(lengths[: i + 1]) for i in range(len(lengths))]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_takes_any_buffer_and_none_of_it(kind: type) -> None:
    assert scanner().feed(kind(b"\x91\x01")) == 2
    assert scanner().feed(kind(b"")) == 0
    assert scanner().feed(kind(b"\x01"), 1) == 0


def test_a_declared_length_is_refused_before_it_arrives() -> None:
    for head in (b"\xdb", b"\xc6", b"\xc9"):
        with pytest.raises(TooManyBytes, match="limit 1000"):
            scanner(max_bytes=1000).feed(head + b"\xff\xff\xff\xff")
    # 990 bytes fit by themselves, but not with what the message already has
    with pytest.raises(TooManyBytes):
        scanner(max_bytes=1000).feed(b"\x92" + b"\xa9" + bytes(9) + b"\xda\x03\xde")
    # each entry takes at least a byte
    with pytest.raises(TooManyBytes):
        scanner(max_bytes=1000).feed(b"\xdc\x03\xe9")
    with pytest.raises(TooManyBytes):
        scanner(max_bytes=1000).feed(b"\xde\x01\xf4")


def test_the_byte_limit_is_exact() -> None:
    for message in (b"\xd9\x20" + bytes(32), b"\xdc\x00\x05" + bytes(5), b"\xcf" + bytes(8)):
        assert scanner(max_bytes=len(message)).feed(message) == len(message)
        with pytest.raises(TooManyBytes):
            scanner(max_bytes=len(message) - 1).feed(message)


def test_the_depth_limit_is_exact() -> None:
    for head in (b"\x91", b"\x81\x00", b"\xdc\x00\x01", b"\xdf\x00\x00\x00\x01\x00"):
        message = head * 31 + b"\x90"
        assert scanner(max_depth=32).feed(message) == len(message)
        with pytest.raises(TooDeep, match="31"):
            scanner(max_depth=31).feed(message)
    with pytest.raises(TooDeep):
        scanner(max_depth=256).feed(b"\x91" * 2000)


def test_siblings_do_not_add_to_the_depth() -> None:
    message = b"\xdc\x01\x00" + b"\x91\x90" * 256
    assert scanner(max_depth=3).feed(message) == len(message)


def test_the_item_limit_counts_all_containers_and_both_halves_of_a_map() -> None:
    message = b"\x93" + b"\x82\x01\x02\x03\x04" + b"\x92\x01\x02" + b"\x00"
    assert scanner(max_items=9).feed(message) == len(message)
    with pytest.raises(TooManyItems, match="limit 8"):
        scanner(max_items=8).feed(message)
    with pytest.raises(TooManyItems, match="4294967295"):
        scanner(max_items=100_000).feed(b"\xdd\xff\xff\xff\xff")


def test_the_limit_of_pairs_counts_for_each_map() -> None:
    def scan(*pairs: int) -> bool:
        data = msgpack.packb([dict.fromkeys(map(str, range(n))) for n in pairs])
        assert Scanner(1 << 40, 32, 1 << 40).feed(data) == len(data)
        return Scanner(1 << 40, 32, 1 << 40, 20).feed(data) == len(data)

    assert scan(20, 15, 20, 0)
    for pairs in (21, 70_000):
        with pytest.raises(TooManyItems, match=f"a map of {pairs} entries, limit 20"):
            scan(1, pairs)
    with pytest.raises(TooManyItems, match="a map of 21 entries, limit 20"):  # before they arrive
        Scanner(1 << 40, 32, 1 << 40, 20).feed(b"\xde\x00\x15")


def test_limits_count_for_one_message_at_a_time() -> None:
    scan = scanner(max_bytes=4, max_depth=1, max_items=3)
    for _ in range(10):
        assert scan.feed(b"\x93\x01\x02\x03") == 4


@pytest.mark.parametrize("prefix", [b"", b"\x91", b"\x92\xa1x"])
def test_the_unused_byte_is_refused(prefix: bytes) -> None:
    with pytest.raises(InvalidByte):
        scanner().feed(prefix + b"\xc1")


def test_the_unused_byte_is_data_inside_a_payload() -> None:
    assert scanner().feed(b"\xc4\x01\xc1") == 3


@pytest.mark.parametrize("limits", [(0, 1, 1), (1, 0, 1), (1, 257, 1), (1, 1, 0), (-1, 1, 1)])
def test_limits_out_of_range_are_refused(limits: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="max_"):
        Scanner(*limits)


@pytest.mark.parametrize("start", [-1, 3])
def test_start_is_checked(start: int) -> None:
    with pytest.raises(ValueError, match="start"):
        scanner().feed(b"\x01\x02", start)


def test_its_errors_are_value_errors() -> None:
    for cls in (InvalidByte, TooManyBytes, TooDeep, TooManyItems):
        assert issubclass(cls, FramingError)
        assert issubclass(cls, ValueError)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_splitter_gives_each_value_whole_however_the_stream_is_cut(size: int) -> None:
    stream = b"".join(VALUES.values())
    splitter = Splitter(1 << 40, 32, 1 << 40)
    found = []
    for start in range(0, len(stream), size):
        splitter.feed(stream[start : start + size])
        while splitter.has_unread:
            if (value := splitter.cut()) is not None:
                assert splitter.n_message_bytes == len(value)
                found.append(bytes(value))
        assert splitter.in_message == (splitter.n_partial_bytes > 0)
    assert found == list(VALUES.values())
    assert splitter.cut() is None


def test_a_splitter_takes_what_follows_before_the_rest_is_cut() -> None:
    splitter = Splitter(1 << 40, 32, 1 << 40)
    splitter.feed(b"\x01\x02\x92\x03")
    assert splitter.cut() == b"\x01"
    splitter.feed(b"\x04\xd4\x05a")
    found = [splitter.cut() for _ in range(4)]
    assert found == [b"\x02", b"\x92\x03\x04", b"\xd4\x05a", None]
    assert splitter.extension
    splitter.feed(b"\x92")
    assert splitter.cut() is None
    assert (splitter.in_message, splitter.n_partial_bytes, splitter.n_items) == (True, 1, 2)
    splitter.clear()
    assert (splitter.has_unread, splitter.n_partial_bytes) == (False, 0)
    with pytest.raises(ValueError, match="max_depth"):
        Splitter(1, 0, 1)
    with pytest.raises(TypeError):
        splitter.feed(bytearray(b"\x01"))  # type: ignore[arg-type]
