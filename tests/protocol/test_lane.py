"""Messages of very many entries: decoded a slice at a time, to the same effect as others."""

import asyncio
import gc
import socket
from typing import Any

import msgpack
import pytest

from brain_daemon.protocol.connection import MAX_ITEMS_AT_ONCE, Connection
from brain_daemon.protocol.framing import Framer
from tests.protocol.serving import TIMEOUT_S, Serving, answers, request, wait_until

LARGE = {"q": [[]] * 90_000}
ENDLESS = [0] * (2 * MAX_ITEMS_AT_ONCE)


def test_large_messages_are_served_like_others(serving: Serving) -> None:
    params = {"a": list(range(50_000)), "b": [{"c": [None, "ä" * 10]}] * 5000}
    with serving.connect() as sock:
        for size in (None, 5000):
            data = request(1, "echo", params) + request(2, "ping")
            for start in range(0, len(data), size or len(data)):
                sock.sendall(data[start : start + (size or len(data))])
            assert answers(sock, 2) == [[1, 1, None, params], [1, 2, None, "pong"]]
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("broken", "msgid"),
    [
        (msgpack.packb([0, 9, "echo", [{"q": ENDLESS, 1: 2}]]), 9),
        (msgpack.packb([0, 9, "echo", [{"q": ENDLESS, "s": "ß"}]])[:-1] + b"\x00", 9),
        (msgpack.packb([0, 9, "echo", [{"q": ENDLESS, "t": msgpack.Timestamp(1)}]]), 9),
        (msgpack.packb([0, 9, "echo", ENDLESS]), 9),
        (msgpack.packb(ENDLESS), 0),
    ],
)
def test_broken_ones_are_answered_and_the_connection_kept(
    serving: Serving, broken: bytes, msgid: int
) -> None:
    with serving.connect() as sock:
        sock.sendall(broken + request(10, "ping"))
        (_, found, error, _), pong = answers(sock, 2)
    assert (found, error["code"]) == (msgid, "bad_request")
    assert pong == [1, 10, None, "pong"]


def test_others_have_their_turn_between_the_slices(serving: Serving) -> None:
    with serving.connect() as one, serving.connect() as two, serving.connect() as other:
        for sock in (one, two, other):
            sock.sendall(request(1, "ping"))
            answers(sock, 1)
        serving.calls.clear()

        async def send_all() -> None:
            one.sendall(request(1, "echo", LARGE))
            two.sendall(request(1, "echo", LARGE))
            other.sendall(request(2, "ping"))

        asyncio.run_coroutine_threadsafe(send_all(), serving.loop).result(TIMEOUT_S)
        assert answers(other, 1) == [[1, 2, None, "pong"]]
        assert serving.calls[0] == ("ping", False)
        assert [len(answers(sock, 1)[0][3]["q"]) for sock in (one, two)] == [90_000] * 2


def test_a_client_that_leaves_holds_nobody_up(serving: Serving) -> None:
    with serving.connect() as sock:
        for _ in range(20):
            with serving.connect() as gone:
                gone.sendall(request(1, "echo", LARGE))
        sock.sendall(request(1, "echo", LARGE))
        assert len(answers(sock, 1)[0][3]["q"]) == 90_000
    wait_until(lambda: serving.server.n_connections == 0)


@pytest.mark.parametrize("when", ["decoded", "served"])
def test_one_that_cannot_be_decoded_or_served_is_cut_off_and_others_go_on(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    owner, name = {"decoded": (Framer, "slices"), "served": (Connection, "take_decoded")}[when]
    done = getattr(owner, name)
    failures = [MemoryError()]

    def fail(*given: Any) -> Any:
        if failures:
            raise failures.pop()
        return done(*given)

    monkeypatch.setattr(owner, name, fail)
    with serving.connect() as bad, serving.connect() as good:
        for sock in (bad, good):
            sock.sendall(request(1, "echo", LARGE))
            wait_until(lambda: not failures)
        assert answers(bad) == []
        assert len(answers(good, 1)[0][3]["q"]) == 90_000
        assert not serving.server.lane._waiting


def test_nothing_is_decoded_for_who_left_while_it_waited(serving: Serving) -> None:
    with serving.connect() as first, serving.connect() as other:
        gone = [serving.connect() for _ in range(10)]
        for sock in (first, other, *gone):
            sock.sendall(request(1, "ping"))
            answers(sock, 1)
        serving.calls.clear()

        async def send_all() -> None:
            first.sendall(request(1, "echo", LARGE))
            for sock in gone:
                sock.sendall(request(1, "echo", LARGE))
                sock.close()
            other.sendall(request(1, "echo", LARGE))

        asyncio.run_coroutine_threadsafe(send_all(), serving.loop).result(TIMEOUT_S)
        for sock in (first, other):
            assert len(answers(sock, 1)[0][3]["q"]) == 90_000
        assert serving.calls == [("echo", False)] * 2
        wait_until(lambda: serving.server.n_connections == 2)


def send_and_drain(serving: Serving, sock: socket.socket, *, grace_s: float) -> None:
    """Send a large message in the turn of the loop in which the server begins to drain."""

    async def both() -> None:
        sock.sendall(request(2, "echo", LARGE))
        await serving.server.drain(grace_s)

    asyncio.run_coroutine_threadsafe(both(), serving.loop).result(TIMEOUT_S)


def test_nothing_is_decoded_for_who_was_cut_off(serving: Serving) -> None:
    with serving.connect() as sock:
        sock.sendall(request(1, "ping"))
        answers(sock, 1)

        send_and_drain(serving, sock, grace_s=0)
        assert not serving.server.lane._waiting
    assert serving.calls == [("ping", False)]


def test_half_closing_after_a_large_message_loses_nothing(serving: Serving) -> None:
    with serving.connect() as sock:
        sock.sendall(request(1, "echo", LARGE) + request(2, "later", {"x": 1}))
        sock.shutdown(1)
        found: list[Any] = answers(sock)
    assert [msgid for _, msgid, _, _ in found] == [1, 2]


def test_a_drain_waits_for_large_messages(serving: Serving) -> None:
    with serving.connect() as sock:
        sock.sendall(request(1, "ping"))
        answers(sock, 1)
        send_and_drain(serving, sock, grace_s=5.0)
        assert [msgid for _, msgid, _, _ in answers(sock)] == [2]
