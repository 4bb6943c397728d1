"""Anything at all sent to a real server: it answers in its protocol, and lives on."""

from collections.abc import Iterator
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain_daemon.errors import ERROR_BY_CODE
from brain_daemon.protocol.framing import Limits
from tests.fuzz.test_scanner import cuts, split, values
from tests.protocol.serving import Serving, answers, request


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    limits = Limits(max_message_bytes=4096, max_depth=8, max_items=200, max_in_flight=3)
    with Serving(tmp_path_factory.mktemp("fuzz") / "s", limits) as running:
        yield running


def exchange(target: Serving, pieces: list[bytes]) -> list[Any]:
    with target.connect() as sock:
        try:
            for piece in pieces:
                sock.sendall(piece)
            sock.shutdown(1)
            found = answers(sock)
        except (BrokenPipeError, ConnectionResetError):
            found = []
    for kind, msgid, error, result in found:
        assert kind == 1
        assert msgid is None or type(msgid) is int
        if error is not None:
            assert result is None
            assert error["code"] in ERROR_BY_CODE
            assert error["code"] != "internal", error
    assert target.pings()
    return found


relaxed = settings(max_examples=100)
calls = st.builds(
    request,
    st.integers(0, 2**32 - 1),
    st.sampled_from(["ping", "echo", "later", "no such"]),
    st.dictionaries(st.text(max_size=5), values, max_size=3),
)


@relaxed
@given(data=st.binary(max_size=300), at=cuts)
def test_garbage(target: Serving, data: bytes, at: list[int]) -> None:
    exchange(target, split(data, at))


@relaxed
@given(message=values, at=cuts)
def test_any_message(target: Serving, message: Any, at: list[int]) -> None:
    exchange(target, split(msgpack.packb(message), at))


@relaxed
@given(
    requests=st.lists(calls, min_size=1, max_size=4),
    mutations=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=3),
    at=cuts,
)
def test_mutated_requests(
    target: Serving, requests: list[bytes], mutations: list[tuple[int, int]], at: list[int]
) -> None:
    data = bytearray(b"".join(requests))
    for where, byte in mutations:
        data[where % len(data)] = byte
    exchange(target, split(bytes(data), at))


@relaxed
@given(
    params=st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=50), max_size=3)), at=cuts
)
def test_every_sound_request_is_answered(
    target: Serving, params: list[dict[str, str]], at: list[int]
) -> None:
    data = b"".join(request(i, ("echo", "later")[i % 2], item) for i, item in enumerate(params))
    found = exchange(target, split(data, at))
    assert sorted(found, key=lambda item: item[1]) == [
        [1, i, None, item] for i, item in enumerate(params)
    ]
