"""What all connections share: identity, errors, number, drain."""

import asyncio
import logging
import os
import re
from pathlib import Path
from typing import Any

import msgpack
import pytest
from msgspec.structs import replace

from brain_daemon.errors import Forbidden
from brain_daemon.model import PeerCredentials
from brain_daemon.protocol.framing import Limits
from tests.protocol.serving import TIMEOUT_S, Serving, answers, request, wait_until


def test_the_principal_is_what_authenticate_made_of_the_peer(serving: Serving) -> None:
    with serving.connect() as sock:
        sock.sendall(request(1, "principal"))
        ((_, _, _, (pid, uid, gid, groups)),) = answers(sock, 1)
    assert (pid, uid, gid) == (os.getpid(), os.geteuid(), os.getegid())
    assert sorted(groups) == sorted(os.getgroups())


def refuse(peer: PeerCredentials) -> Any:
    raise Forbidden(f"uid {peer.uid} is not known here")


def test_a_stranger_is_told_so_in_answer_to_the_first_request(tmp_path: Path) -> None:
    with Serving(tmp_path / "s", authenticate=refuse) as serving:
        for _ in range(3):
            with serving.connect() as sock:
                sock.sendall(request(5, "ping") + request(6, "ping"))
                (_, msgid, error, _), last = answers(sock)
            assert (msgid, error["code"]) == (5, "forbidden")
            assert str(os.geteuid()) in error["message"]
            assert error["detail"].pop("request").endswith("-5")
            assert last[2]["detail"].pop("request").isdecimal()
            assert last == [1, None, error, None]
        with serving.connect() as sock:
            sock.sendall(msgpack.packb([2, "ping", []]))
            (alone,) = answers(sock)
        assert alone[2]["detail"].pop("request") == "4"
        assert alone == last
        assert serving.calls == []


def test_a_silent_stranger_is_not_kept(tmp_path: Path) -> None:
    limits = Limits(message_timeout_s=0.1)
    with Serving(tmp_path / "s", limits, authenticate=refuse) as serving, serving.connect() as sock:
        ((_, msgid, error, _),) = answers(sock)
        assert (msgid, error["code"]) == (None, "forbidden")


class Door:
    """Who is let in, by number, until it is shut; and how many are inside."""

    def __init__(self) -> None:
        self.is_open = True
        self.inside: list[int] = []
        self.n_asked = 0

    def authenticate(self, peer: PeerCredentials) -> PeerCredentials:
        self.n_asked += 1
        if not self.is_open:
            raise Forbidden("the door is shut")
        self.inside.append(self.n_asked)
        return replace(peer, pid=self.n_asked)

    def leave(self, principal: PeerCredentials) -> None:
        self.inside.remove(principal.pid)


def test_every_principal_leaves_once(tmp_path: Path) -> None:
    door = Door()
    with Serving(tmp_path / "s", None, door.authenticate, door.leave) as serving:
        with serving.connect() as first, serving.connect() as second:
            for sock in (first, second):
                sock.sendall(request(1, "ping"))
                answers(sock, 1)
            assert door.inside == [1, 2]
        wait_until(lambda: not door.inside)
        door.is_open = False
        with serving.connect() as sock:
            sock.sendall(request(1, "ping"))
            answers(sock)
        wait_until(lambda: serving.server.n_connections == 0)
        assert door.n_asked == 3
    assert not door.inside


def test_judged_anew_a_connection_goes_on_as_another_or_is_refused(tmp_path: Path) -> None:
    door = Door()
    with (
        Serving(tmp_path / "s", None, door.authenticate, door.leave) as serving,
        serving.connect() as sock,
    ):
        for number, is_open in ((1, True), (2, True), (3, False)):
            door.is_open = is_open
            if number > 1:
                serving.readmit()
            sock.sendall(request(number, "principal") + request(9, "ping"))
            if is_open:
                (_, _, _, (asked, *_)), _ = answers(sock, 2)
                assert asked == number
                assert door.inside == [number]
        (_, msgid, error, _), last = answers(sock)
        assert (msgid, error["message"], last[1]) == (3, "the door is shut", None)
        assert not door.inside
        serving.readmit()  # who was refused is not asked about again
        assert door.n_asked == 3


def test_calls_under_way_are_answered_though_the_door_is_shut(tmp_path: Path) -> None:
    door = Door()
    with (
        Serving(tmp_path / "s", None, door.authenticate, door.leave) as serving,
        serving.connect() as sock,
    ):
        sock.sendall(request(1, "hold"))
        wait_until(lambda: len(serving.held) == 1)
        door.is_open = False
        serving.readmit()
        sock.sendall(request(2, "ping"))
        (refused, last) = answers(sock, 2)
        assert (refused[1], refused[2]["code"], last[1]) == (2, "forbidden", None)
        serving.resolve(0, "done")
        assert answers(sock) == [[1, 1, None, "done"]]


def test_who_is_refused_in_silence_is_closed_in_time(tmp_path: Path) -> None:
    door = Door()
    limits = Limits(message_timeout_s=0.1)
    with (
        Serving(tmp_path / "s", limits, door.authenticate, door.leave) as serving,
        serving.connect() as sock,
    ):
        sock.sendall(request(1, "ping"))
        answers(sock, 1)
        door.is_open = False
        serving.readmit()
        ((_, msgid, error, _),) = answers(sock)
        assert (msgid, error["code"]) == (None, "forbidden")


def test_a_task_is_cancelled_with_its_client(tmp_path: Path) -> None:
    with Serving(tmp_path / "s") as serving:
        with serving.connect() as sock:
            sock.sendall(request(1, "task"))
            wait_until(lambda: ("task", False) in serving.calls)
        wait_until(lambda: serving.cancelled == ["task"])


def test_a_broken_authenticate_lets_nobody_in(tmp_path: Path) -> None:
    def broken(peer: PeerCredentials) -> Any:
        raise KeyError(peer)

    with Serving(tmp_path / "s", authenticate=broken) as serving, serving.connect() as sock:
        sock.sendall(request(5, "ping"))
        (_, msgid, error, _), _ = answers(sock)
        assert (msgid, error["code"]) == (5, "internal")
        assert serving.calls == []


@pytest.mark.parametrize("method", ["fail", "fail_later"])
def test_a_typed_error_crosses_as_it_is(serving: Serving, method: str) -> None:
    with serving.connect() as sock:
        sock.sendall(request(1, method, {"with": "not_found"}))
        detail = {"id": 5, "request": "1-1"}
        assert answers(sock, 1) == [
            [1, 1, {"code": "not_found", "message": "no such thing", "detail": detail}, None]
        ]


@pytest.mark.parametrize("method", ["fail", "fail_later"])
@pytest.mark.parametrize("kind", ["value", "memory", "recursion"])
def test_any_other_exception_is_logged_and_hidden(
    serving: Serving, method: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with serving.connect() as sock:
        sock.sendall(request(1, method, {"with": kind}))
        ((_, _, error, _),) = answers(sock, 1)
    assert error["code"] == "internal"
    assert "secret" not in str(error)
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.__dict__["fields"]["request"] == error["detail"]["request"]
    assert re.fullmatch(r"\d+-1", error["detail"]["request"])
    assert f"internal error, request {error['detail']['request']}: " in error["message"]
    assert record.exc_info
    assert serving.pings()


def test_a_result_that_cannot_be_sent_is_an_internal_error(serving: Serving) -> None:
    with serving.connect() as sock:
        sock.sendall(request(1, "unsendable") + request(2, "ping"))
        (_, _, error, _), pong = answers(sock, 2)
    assert error["code"] == "internal"
    assert pong == [1, 2, None, "pong"]


def test_an_error_whose_detail_cannot_be_sent_loses_only_that(serving: Serving) -> None:
    with serving.connect() as sock:
        sock.sendall(request(1, "fail", {"with": "odd_detail"}))
        ((_, _, error, _),) = answers(sock, 1)
    assert error == {"code": "not_found", "message": "nor this", "detail": {"request": "1-1"}}


def test_a_result_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with Serving(tmp_path / "s", Limits(max_response_bytes=1000)) as serving:
        with serving.connect() as sock:
            sock.sendall(request(1, "bytes", {"n": 993}) + request(2, "bytes", {"n": 994}))
            fits, (_, msgid, error, _) = answers(sock, 2)
        assert len(msgpack.packb(fits)) == 1000
        assert (msgid, error["code"]) == (2, "too_large")
        assert "1001" in error["message"]


def test_connections_are_bounded_and_the_surplus_is_told_when_to_return(tmp_path: Path) -> None:
    with Serving(tmp_path / "s", Limits(max_connections=2)) as serving:
        with serving.connect() as one, serving.connect() as two:
            for sock in (one, two):
                sock.sendall(request(1, "ping"))
                answers(sock, 1)
            with serving.connect() as three:
                three.sendall(request(9, "ping"))
                (_, msgid, error, _), _ = answers(three)
            assert (msgid, error["code"]) == (9, "overloaded")
            assert error["detail"]["retry_after_ms"] > 0
        wait_until(lambda: serving.server.n_connections == 0)
        assert serving.pings()


def test_a_crowd_of_surplus_connections_is_bounded_too(tmp_path: Path) -> None:
    with Serving(tmp_path / "s", Limits(max_connections=1)) as serving:
        crowd = [serving.connect() for _ in range(200)]
        wait_until(lambda: serving.server.n_connections <= 65)
        wait_until(lambda: sum(is_closed(sock) for sock in crowd) >= 135)
        for sock in crowd:
            sock.close()
        wait_until(lambda: serving.server.n_connections == 0)
        assert serving.pings()


def is_closed(sock: Any) -> bool:
    sock.setblocking(False)
    try:
        return sock.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_drain_answers_what_was_read_and_accepts_nothing_new(serving: Serving) -> None:
    with serving.connect() as busy, serving.connect() as idle:
        idle.sendall(request(1, "ping"))
        answers(idle, 1)
        busy.sendall(request(1, "hold") + request(2, "hold"))
        wait_until(lambda: len(serving.held) == 2)
        done = serving.start_drain(30)
        assert answers(idle) == []
        with pytest.raises(OSError, match=r"refused|reset|No such file"):
            serving.pings()
        assert not done.done()
        serving.resolve(0, "a")
        serving.resolve(1, "b")
        assert answers(busy) == [[1, 1, None, "a"], [1, 2, None, "b"]]
        done.result(30)


def test_drain_answers_requests_that_arrived_but_were_not_read(serving: Serving) -> None:
    with serving.connect() as sock:
        sock.sendall(request(1, "ping"))
        assert answers(sock, 1)

        async def send_and_drain() -> None:
            sock.sendall(request(2, "ping"))
            await serving.server.drain(5.0)

        asyncio.run_coroutine_threadsafe(send_and_drain(), serving.loop).result(TIMEOUT_S)
        assert answers(sock) == [[1, 2, None, "pong"]]


def test_drain_answers_requests_that_waited_for_their_turn(tmp_path: Path) -> None:
    with Serving(tmp_path / "s", Limits(max_in_flight=1)) as serving, serving.connect() as sock:
        sock.sendall(request(1, "hold") + b"".join(request(i, "ping") for i in range(2, 10)))
        wait_until(lambda: len(serving.held) == 1)
        done = serving.start_drain(30)
        serving.resolve(0, "a")
        assert [msgid for _, msgid, _, _ in answers(sock)] == list(range(1, 10))
        done.result(30)


def test_drain_cuts_off_what_does_not_end_in_time(serving: Serving) -> None:
    with serving.connect() as sock:
        sock.sendall(request(1, "hang") + request(2, "ping"))
        answers(sock, 1)
        serving.drain(0.01)
        assert serving.path.is_socket()  # who made it removes it
        assert serving.server.n_connections == 0
        assert serving.cancelled == ["hang"]
