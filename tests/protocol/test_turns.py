"""Who is served when: many long pipelines hold up nobody else for long."""

import asyncio
import select
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from brain_daemon.protocol.connection import ALLOWANCE_BYTES
from brain_daemon.protocol.framing import INCOMPLETE, Framer, Limits
from tests.protocol.serving import (
    TIMEOUT_S,
    Serving,
    answers,
    fail_to_parse,
    request,
    wait_until,
)


@pytest.mark.parametrize(("n_pipelines", "n_requests"), [(1, 1000), (2, 800), (40, 100)])
def test_a_single_request_does_not_wait_for_a_round_of_pipelines(
    tmp_path: Path, n_pipelines: int, n_requests: int
) -> None:
    work = b"".join(request(i, "work", {"s": 0.0005}) for i in range(n_requests))
    with Serving(tmp_path / "s.sock") as serving, ExitStack() as crowd:
        single = crowd.enter_context(serving.connect())
        single.sendall(request(0, "ping"))
        assert answers(single, 1)
        pipelines = [crowd.enter_context(serving.connect()) for _ in range(n_pipelines)]
        for pipeline in pipelines:
            pipeline.sendall(work)
        wait_until(lambda: len(serving.calls) > 80)
        served_before = []
        for i in range(15):
            n_before = len(serving.calls)
            single.sendall(request(i, "ping"))
            assert answers(single, 1) == [[1, i, None, "pong"]]
            served_before.append(serving.calls.index(("ping", False), n_before) - n_before)
        # One turn is two or three of these requests; a round of forty would be some hundred.
        assert sorted(served_before)[-3] < 20, served_before  # two may be the machine's fault
        for pipeline in pipelines:  # and nobody is forgotten
            assert len(answers(pipeline, n_requests)) == n_requests


def test_a_single_request_does_not_wait_for_a_round_of_half_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = request(0, "echo", {"q": "x" * 1_000_000})[:100_000]
    with Serving(tmp_path / "s.sock") as serving, ExitStack() as crowd:
        looked: list[bool] = []  # whether a look at what arrived ended a message
        look = Framer.next

        def slow(framer: Framer) -> Any:
            message = look(framer)
            looked.append(message is not INCOMPLETE)
            time.sleep(0.001)
            return message

        monkeypatch.setattr(Framer, "next", slow)
        single = crowd.enter_context(serving.connect())
        senders = [crowd.enter_context(serving.connect()) for _ in range(40)]
        for sender in senders:
            sender.sendall(half)
        wait_until(lambda: serving.server.n_held_bytes == 40 * (len(half) - ALLOWANCE_BYTES))

        async def send_all() -> None:
            looked.clear()
            for sender in senders:
                sender.sendall(half)
            single.sendall(request(1, "ping"))

        asyncio.run_coroutine_threadsafe(send_all(), serving.loop).result(TIMEOUT_S)
        assert answers(single, 1) == [[1, 1, None, "pong"]]
        assert looked.index(True) < 12, looked
        wait_until(lambda: len(looked) == 41)  # and nobody is forgotten


def test_waiting_for_a_turn_does_not_renew_the_time_for_a_message(tmp_path: Path) -> None:
    work = b"".join(request(i, "work", {"s": 0.001}) for i in range(4000))
    limits = Limits(message_timeout_s=0.3)
    with Serving(tmp_path / "s.sock", limits) as serving, ExitStack() as crowd:
        dribbler = crowd.enter_context(serving.connect())
        dribbler.sendall(request(0, "echo", {"q": "x" * 1000})[:100])
        for _ in range(3):
            crowd.enter_context(serving.connect()).sendall(work)
        wait_until(lambda: serving.server.turns.n_waiting > 0)
        dribbler.setblocking(False)
        n_sent = 0
        while not select.select([dribbler], [], [], 0.01)[0]:
            n_sent += dribbler.send(b"x")
            assert n_sent < 800  # the crowd takes twelve seconds, and eight at the least
        dribbler.setblocking(True)
        ((_, _, error, _),) = answers(dribbler)
        assert error["code"] == "deadline_exceeded"
        assert serving.server.turns.n_waiting > 0  # so each byte had waited


def test_one_that_cannot_be_served_is_cut_off_and_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = b"".join(request(i, "work", {"s": 0.0005}) for i in range(100))
    with Serving(tmp_path / "s.sock") as serving, ExitStack() as crowd:
        fail_to_parse(monkeypatch)
        bad = crowd.enter_context(serving.connect())
        good = [crowd.enter_context(serving.connect()) for _ in range(3)]
        for sock in good:
            sock.sendall(work)
        bad.sendall(work + request(100, "fail"))
        with suppress(ConnectionResetError):
            assert len(answers(bad)) <= 100
        for sock in good:
            assert len(answers(sock, 100)) == 100
        wait_until(lambda: serving.server.n_connections == 3)


def test_who_waits_for_a_turn_is_not_read_on(tmp_path: Path) -> None:
    """Else many that wait long would each be taken in whole, past all bounds."""
    work = b"".join(request(i, "work", {"s": 0.005}) for i in range(60_000))
    with Serving(tmp_path / "s.sock") as serving, ExitStack() as crowd:
        senders = [crowd.enter_context(serving.connect()) for _ in range(40)]
        taken = dict.fromkeys(senders, 0)
        for sender in senders:
            sender.setblocking(False)
        for _ in range(100):
            for sender in senders:
                with suppress(BlockingIOError):
                    taken[sender] += sender.send(work[taken[sender] :])
            time.sleep(0.005)
        # What the kernel buffers, and a read of a quarter of a megabyte before and after a turn.
        assert max(taken.values()) < 900_000, sorted(taken.values())
