from pathlib import Path
from typing import Any

import msgpack
import pytest

from brain_daemon.client.core import Core, dial
from brain_daemon.errors import BadRequest, ConnectionLost, InternalError, NotFound, TooLarge


def response(msgid: Any, error: Any, result: Any) -> bytes:
    return msgpack.packb([1, msgid, error, result])


def msgid_of(data: bytes) -> int:
    msgid: int = msgpack.unpackb(data)[1]
    return msgid


def test_answers_find_their_calls_in_any_order_and_any_split() -> None:
    core: Core[str] = Core()
    ids = [msgid_of(core.request(name, "ping", {})) for name in "abc"]
    stream = response(ids[2], None, 3) + response(ids[0], None, 1) + response(ids[1], None, 2)
    found = [outcome for byte in stream for outcome in core.receive(bytes([byte]))]
    assert found == [("c", 3), ("a", 1), ("b", 2)]
    assert core.pending == {}


def test_an_error_is_the_exception_of_its_code() -> None:
    core: Core[str] = Core()
    msgid = msgid_of(core.request("a", "get", {"id": 5}))
    error = {"code": "not_found", "message": "no chunk 5", "detail": {"id": 5}}
    ((_, outcome),) = core.receive(response(msgid, error, None))
    assert type(outcome) is NotFound
    assert (outcome.message, outcome.detail) == ("no chunk 5", {"id": 5})
    msgid = msgid_of(core.request("b", "get", {}))
    ((_, outcome),) = core.receive(response(msgid, {"code": "of the future"}, None))
    assert type(outcome) is InternalError


def test_an_answer_nobody_waits_for_is_discarded() -> None:
    core: Core[str] = Core()
    msgid = msgid_of(core.request("a", "ping", {}))
    assert core.receive(response(msgid + 1, None, 5)) == []
    assert core.receive(response(msgid, None, 6)) == [("a", 6)]
    assert core.receive(response(msgid, None, 7)) == []


def test_ids_wrap_round_and_skip_those_that_wait() -> None:
    core: Core[str] = Core()
    first = msgid_of(core.request("a", "ping", {}))
    core._last_msgid = 2**32 - 2
    ids = [msgid_of(core.request(str(i), "ping", {})) for i in range(3)]
    assert ids == [2**32 - 1, 0, first + 1]


def test_a_nil_id_tells_why_the_connection_ends() -> None:
    core: Core[str] = Core()
    msgid = msgid_of(core.request("a", "ping", {}))
    assert core.receive(response(None, {"code": "too_large", "message": "no"}, None)) == []
    assert type(core.fault) is TooLarge
    assert core.receive(response(msgid, None, "pong")) == [("a", "pong")]


@pytest.mark.parametrize("data", [b"\xc1", b"HTTP/1.1", b"\x94\x00\x01\xa1a\x90", b"\xa1\xff"])
def test_another_protocol_is_told_apart(data: bytes) -> None:
    core: Core[str] = Core()
    with pytest.raises(ConnectionLost, match="msgpack-RPC"):
        core.receive(data)


@pytest.mark.parametrize("value", [2**70, object(), {1, 2}, "\ud800"])
def test_what_cannot_be_sent_is_a_bad_request(value: object) -> None:
    core: Core[str] = Core()
    with pytest.raises(BadRequest, match="remember"):
        core.request("a", "remember", {"text": value})
    assert core.pending == {}


def test_a_missing_socket_is_waited_for_only_after_a_connection(tmp_path: Path) -> None:
    with pytest.raises(ConnectionLost, match="No such file") as caught:
        next(dial(tmp_path / "s", again=False))
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    assert next(dial(tmp_path / "s", again=True)) > 0


def test_a_path_too_long_for_a_socket_says_so() -> None:
    with pytest.raises(ConnectionLost, match="too long"):
        next(dial(Path("/" + "x" * 200), again=True))
