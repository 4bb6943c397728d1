"""Connections that end before their time, and what must not end with them."""

import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from brain_daemon.protocol.framing import Limits
from tests.protocol.serving import Serving, answers, fail_to_parse, request, wait_until


def test_who_half_closes_and_does_not_read_is_cut_off_too(tmp_path: Path) -> None:
    """However little is unsent: nothing else would end such a connection."""
    limits = Limits(max_unsent_bytes=1 << 20, write_timeout_s=0.1)
    with Serving(tmp_path / "s", limits) as serving, serving.connect() as sock:
        sock.sendall(request(1, "bytes", {"n": 10_000}) * 50)
        sock.shutdown(socket.SHUT_WR)
        wait_until(lambda: len(serving.calls) == 50)
        wait_until(lambda: serving.server.n_connections == 0)


def test_a_close_while_it_waits_to_be_closed_leaves_nothing(serving: Serving) -> None:
    """Its turn comes when it is gone; a deadline set then would be looked at for ever."""
    gone = serving.connect()
    gone.sendall(request(1, "hold") * 2 + b"\xc1")
    gone.shutdown(socket.SHUT_WR)
    assert answers(gone, 1)[0][2]["code"] == "bad_request"
    with ExitStack() as crowd:
        busy = [crowd.enter_context(serving.connect()) for _ in range(20)]
        for sock in busy:
            sock.sendall(request(1, "work", {"s": 0.02}) * 3)
        wait_until(lambda: len(serving.calls) > 4)
        gone.close()
        serving.resolve(0, "too late")
        wait_until(lambda: serving.server.n_connections == len(busy))
        for sock in busy:
            assert len(answers(sock, 3)) == 3
    wait_until(lambda: serving.server.n_connections == 0)
    assert not serving.server._watched


ONE = Limits(max_in_flight=1, message_timeout_s=0.1, call_timeout_s=0.1)


def test_a_failure_when_a_call_expires_ends_no_other_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_to_parse(monkeypatch)
    with Serving(tmp_path / "s", ONE) as serving, serving.connect() as sock:
        sock.sendall(request(1, "hang") + request(2, "fail"))
        wait_until(lambda: serving.server.n_connections == 0)
        with serving.connect() as other:
            other.sendall(request(1, "ping")[:-1])
            assert answers(other)[0][2]["code"] == "deadline_exceeded"


def test_who_cannot_be_served_after_an_answer_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_to_parse(monkeypatch)
    with Serving(tmp_path / "s", Limits(max_in_flight=1)) as serving, serving.connect() as sock:
        sock.sendall(request(1, "hold") + request(2, "fail"))
        wait_until(lambda: len(serving.held) == 1)
        serving.resolve(0, "one")
        wait_until(lambda: serving.server.n_connections == 0)


def test_who_cannot_be_served_when_he_reads_again_is_cut_off(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_to_parse(monkeypatch)
    with serving.connect() as sock:
        sock.sendall(request(1, "bytes", {"n": 4_000_000}) + request(2, "fail"))
        wait_until(lambda: serving.server.n_held_bytes > 0)
        with suppress(ConnectionResetError):
            answers(sock)
        wait_until(lambda: serving.server.n_connections == 0)


def test_a_drain_is_over_in_time_however_many_wait_to_be_accepted(serving: Serving) -> None:
    with ExitStack() as crowd:
        busy = crowd.enter_context(serving.connect())
        busy.sendall(request(0, "work", {"s": 0.3}))
        wait_until(lambda: len(serving.calls) == 1)
        for _ in range(60):
            sock = crowd.enter_context(serving.connect())
            sock.sendall(request(1, "work", {"s": 0.05}))
        serving.drain(0.2)
        assert len(serving.calls) < 30
