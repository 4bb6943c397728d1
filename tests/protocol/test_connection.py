"""What one connection may and may not do; after everything a ping must still be answered."""

import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgpack
import pytest

from brain_daemon.protocol import connection
from brain_daemon.protocol.framing import Limits
from tests.protocol.serving import TIMEOUT_S, Serving, answers, request, wait_until

LIMITS = Limits(max_message_bytes=1 << 20, max_in_flight=4, max_unsent_bytes=64 * 1024)
SHORT = Limits(message_timeout_s=0.1, call_timeout_s=0.1, write_timeout_s=0.1)


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Serving]:
    with Serving(tmp_path / "s", LIMITS) as running:
        yield running
        assert running.pings()


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[Serving]:
    with Serving(tmp_path / "s", SHORT) as running:
        yield running
        assert running.pings()


CLOSED_AFTER: dict[str, tuple[bytes, str]] = {
    "4 GiB declared": (b"\x94\x00\x01\xa4echo\x91\x81\xa1q\xdb\xff\xff\xff\xff", "too_large"),
    "4 G entries": (b"\xdd\xff\xff\xff\xff", "too_large"),
    "10 MB": (request(1, "echo", {"q": "x" * 10_000_000}), "too_large"),
    "a map of 257 entries": (request(1, "echo", {str(i): i for i in range(257)}), "too_large"),
    "a map of 4 G entries": (b"\x94\x00\x01\xa4echo\x91\xdf\xff\xff\xff\xff", "too_large"),
    "a million empty arrays": (b"\xdd\x00\x0f\x00\x00" + b"\x90" * 0xF0000, "too_large"),
    "nesting 2,000 deep": (b"\x94\x00\x01\xa4echo\x91" + b"\x91" * 2000, "bad_request"),
    "unused byte": (b"\xc1", "bad_request"),
    "unused byte in a message": (b"\x94\x00\x01\xa4echo\x91\xc1", "bad_request"),
    "HTTP": (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "bad_request"),
    "zeros": (bytes(100_000), "bad_request"),
    "nil": (b"\xc0", "bad_request"),
}


@pytest.mark.parametrize("name", CLOSED_AFTER)
def test_lost_framing_is_answered_once_and_closed(limited: Serving, name: str) -> None:
    data, code = CLOSED_AFTER[name]
    with limited.connect() as sock:
        sock.sendall(request(1, "ping"))
        sock.sendall(data)
        pong, (kind, msgid, error, result) = answers(sock)
    assert pong == [1, 1, None, "pong"]
    assert (kind, msgid, result) == (1, None, None)
    assert error["code"] == code
    assert error["message"]


KEPT_AFTER: dict[str, tuple[bytes, int | None]] = {
    "invalid UTF-8": (b"\xa1\xff", None),
    "invalid UTF-8 in a field": (b"\x94\x00\x09\xa4echo\x91\x81\xa1q\xa1\xff", 9),
    "integer map key": (msgpack.packb([0, 9, "echo", [{1: 2}]]), 9),
    "2**70 as an extension": (
        msgpack.packb([0, 9, "echo", [{"n": msgpack.ExtType(5, b"\x40" + bytes(8))}]]),
        9,
    ),
    "timestamp": (msgpack.packb([0, 9, "echo", [{"t": msgpack.Timestamp(1)}]]), 9),
    "wrong arity": (msgpack.packb([0, 9, "echo"]), 9),
    "method is a number": (request(9, 7), 9),
    "msgid is text": (request("nine", "echo"), None),
    "msgid is negative": (request(-1, "echo"), None),
    "params is a map": (msgpack.packb([0, 9, "echo", {}]), 9),
    "two parameters": (msgpack.packb([0, 9, "echo", [1, 2]]), 9),
    "a response": (msgpack.packb([1, 9, None, "pong"]), None),
    "a map": (msgpack.packb({"method": "ping"}), None),
    "empty array": (b"\x90", None),
}


@pytest.mark.parametrize("name", KEPT_AFTER)
def test_a_malformed_message_is_answered_and_the_connection_kept(
    limited: Serving, name: str
) -> None:
    data, expected = KEPT_AFTER[name]
    with limited.connect() as sock:
        sock.sendall(data + request(10, "ping"))
        (kind, msgid, error, result), pong = answers(sock, 2)
    assert (kind, msgid, result) == (1, expected, None)
    assert error["code"] == "bad_request"
    assert pong == [1, 10, None, "pong"]


def test_an_answer_may_hold_what_a_request_held(limited: Serving) -> None:
    params = {"α": [None, True, 2**64 - 1, -(2**63), 1.5, float("inf")], "b": b"\x00\xff"}
    with limited.connect() as sock:
        sock.sendall(request(1, "echo", params) + msgpack.packb([0, 2, "echo", []]))
        assert answers(sock, 2) == [[1, 1, None, params], [1, 2, None, {}]]


def test_one_byte_at_a_time(limited: Serving) -> None:
    with limited.connect() as sock:
        for byte in request(1, "echo", {"q": "hello"}):
            sock.send(bytes([byte]))
        assert answers(sock, 1) == [[1, 1, None, {"q": "hello"}]]


def test_half_a_message_then_close(limited: Serving) -> None:
    message = request(1, "echo", {"q": "hello"})
    for end in range(1, len(message)):
        with limited.connect() as sock:
            sock.sendall(message[:end])
    assert limited.pings()
    assert [name for name, _ in limited.calls] == ["ping"]
    wait_until(lambda: limited.server.n_connections == 0)


def test_what_a_read_brought_is_answered_in_order_with_one_write(
    limited: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "TURN_S", TIMEOUT_S)  # however busy the machine is
    with limited.connect() as sock:
        sock.sendall(b"".join(request(i, "echo", {"i": i}) for i in range(200)))
        first = sock.recv(1 << 20, socket.MSG_PEEK)
        found = answers(sock, 200)
    assert found == [[1, i, None, {"i": i}] for i in range(200)]
    unpacker = msgpack.Unpacker()
    unpacker.feed(first)
    assert len(list(unpacker)) == 200


def test_awaited_results_do_not_hold_up_others(limited: Serving) -> None:
    with limited.connect() as sock:
        sock.sendall(request(1, "hold") + request(2, "later", {"x": 1}) + request(3, "ping"))
        assert sorted(answers(sock, 2)) == [[1, 2, None, {"x": 1}], [1, 3, None, "pong"]]
        limited.resolve(0, "at last")
        assert answers(sock, 1) == [[1, 1, None, "at last"]]


def test_notifications_are_never_answered(limited: Serving) -> None:
    notes = [
        msgpack.packb([2, "echo", [{}]]),
        msgpack.packb([2, "fail", [{"with": "not_found"}]]),
        msgpack.packb([2, "fail", [{"with": "value"}]]),
        msgpack.packb([2, "later", [{}]]),
        msgpack.packb([2, "fail_later", [{"with": "value"}]]),
        msgpack.packb([2, 7, [{}]]),
        msgpack.packb([2, "echo", [{1: 2}]]),
        b"\x93\x02\xa1\xff\x90",
    ]
    with limited.connect() as sock:
        sock.sendall(b"".join(notes))
        sock.sendall(request(1, "later", {"then": 1}))
        assert answers(sock, 1) == [[1, 1, None, {"then": 1}]]
        sock.shutdown(socket.SHUT_WR)
        assert answers(sock) == []
    assert ("echo", True) in limited.calls
    assert ("later", False) in limited.calls


def test_a_half_closed_client_still_gets_every_answer(limited: Serving) -> None:
    with limited.connect() as sock:
        sock.sendall(request(1, "hold") + request(2, "ping"))
        sock.shutdown(socket.SHUT_WR)
        assert answers(sock, 1) == [[1, 2, None, "pong"]]
        wait_until(lambda: len(limited.held) == 1)
        limited.resolve(0, "late")
        assert answers(sock) == [[1, 1, None, "late"]]


def test_lost_framing_does_not_lose_the_calls_begun(limited: Serving) -> None:
    with limited.connect() as sock:
        sock.sendall(request(1, "hold") + b"\xc1" + request(2, "ping"))
        ((_, msgid, error, _),) = answers(sock, 1)
        assert (msgid, error["code"]) == (None, "bad_request")
        limited.resolve(0, "done")
        assert answers(sock) == [[1, 1, None, "done"]]


def test_lost_framing_and_a_half_close_do_not_lose_the_calls_begun(limited: Serving) -> None:
    with limited.connect() as sock:
        sock.sendall(request(1, "hold") + request(2, "hold") + b"\xc1")
        sock.shutdown(socket.SHUT_WR)
        ((_, msgid, error, _),) = answers(sock, 1)
        assert (msgid, error["code"]) == (None, "bad_request")
        assert limited.pings()  # the loop has had every chance to close it
        limited.resolve(0, "one")
        assert answers(sock, 1) == [[1, 1, None, "one"]]
        limited.resolve(1, "two")
        assert answers(sock) == [[1, 2, None, "two"]]
        wait_until(lambda: limited.server.n_connections == 0)  # before its client closes it


@pytest.mark.parametrize("is_half_closed", [False, True])
def test_lost_framing_leaves_no_connection_open_when_its_calls_expire(
    impatient: Serving, is_half_closed: bool
) -> None:
    with impatient.connect() as sock:
        sock.sendall(request(1, "hold") + b"\xc1")
        if is_half_closed:
            sock.shutdown(socket.SHUT_WR)
        found = answers(sock)
        assert [(msgid, error["code"]) for _, msgid, error, _ in found] == [
            (None, "bad_request"),
            (1, "deadline_exceeded"),
        ]
        wait_until(lambda: impatient.server.n_connections == 0)


def test_calls_in_flight_are_bounded(limited: Serving) -> None:
    with limited.connect() as sock:
        sock.sendall(b"".join(request(i, "hold") for i in range(10)) + request(99, "ping"))
        wait_until(lambda: len(limited.held) == 4)
        assert limited.pings()  # the loop has had every chance to begin more
        assert len(limited.held) == 4
        limited.resolve(2, "c")
        assert answers(sock, 1) == [[1, 2, None, "c"]]
        wait_until(lambda: len(limited.held) == 5)
        for i in (0, 1, 3, *range(4, 10)):
            wait_until(lambda i=i: len(limited.held) > i)  # type: ignore[misc]
            limited.resolve(i, i)
        found = answers(sock, 10)
    assert sorted(msgid for _, msgid, _, _ in found) == [0, 1, *range(3, 10), 99]


def test_bytes_in_flight_are_bounded(tmp_path: Path) -> None:
    limits = Limits(max_in_flight=1000, max_in_flight_bytes=300_000)
    with Serving(tmp_path / "s", limits) as serving, serving.connect() as sock:
        calls = [request(i, "hold", {"q": "x" * 100_000}) for i in range(7)]
        with ThreadPoolExecutor(1) as sending:
            sent = sending.submit(sock.sendall, b"".join(calls) + request(99, "ping"))
            wait_until(lambda: len(serving.held) == 3)
            assert serving.pings()  # the loop has had every chance to begin more
            assert len(serving.held) == 3
            for i in range(7):
                wait_until(lambda i=i: len(serving.held) > i)  # type: ignore[misc]
                assert len(serving.held) <= 3 + i
                serving.resolve(i, i)
            found = answers(sock, 8)
            sent.result()
    assert sorted(msgid for _, msgid, _, _ in found) == [*range(7), 99]


def flood(sock: socket.socket, message: bytes, n_bytes: int) -> int:
    """Send until the server takes no more; the bytes it took."""
    sock.setblocking(False)
    n_sent = 0
    while n_sent < n_bytes:
        try:
            n_sent += sock.send(message)
        except BlockingIOError:
            break
    return n_sent


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def until_stuck(serving: Serving, sock: socket.socket, message: bytes) -> int:
    """Flood until nothing more is taken although the server is idle."""
    total = 0
    while True:
        n_sent = flood(sock, message, 64 << 20)
        total += n_sent
        assert total < 64 << 20, "the server reads on without bound"
        assert serving.pings()
        if not n_sent:
            return total


def test_a_client_that_never_reads_is_read_no_further(limited: Serving) -> None:
    before = resident_bytes()
    with limited.connect() as sock:
        sock.sendall(request(1, "ping"))
        until_stuck(limited, sock, request(1, "bytes", {"n": 5000}) * 100)
        n_served = len(limited.calls)
        assert resident_bytes() - before < 16 << 20
        assert limited.pings()
        assert len(limited.calls) == n_served + 1
        # it may still think better of it: everything is answered after all
        sock.settimeout(30)
        assert answers(sock, 50)[-1][3] == b"x" * 5000


def test_deferred_calls_are_begun_only_while_their_peer_reads(tmp_path: Path) -> None:
    with Serving(tmp_path / "s", Limits(max_in_flight=50)) as serving, serving.connect() as sock:
        sock.sendall(b"".join(request(i, "bytes_later", {"n": 1_000_000}) for i in range(20)))
        wait_until(lambda: serving.calls.count(("bytes_later", False)) == 20)
        for _ in range(10):
            assert serving.pings()
        assert serving.n_begun <= 2
        assert serving.server.n_held_bytes < 2_000_000
        assert [len(result) for _, _, _, result in answers(sock, 20)] == [1_000_000] * 20
        assert serving.n_begun == 20


def test_few_deferred_calls_of_a_connection_run_at_once(serving: Serving) -> None:
    with serving.connect() as sock, serving.connect() as other:
        sock.sendall(b"".join(request(i, "begin") for i in range(5)) + request(9, "ping"))
        assert answers(sock, 1) == [[1, 9, None, "pong"]]
        assert serving.pings()
        assert len(serving.held) == 2
        other.sendall(request(7, "begin"))
        wait_until(lambda: len(serving.held) == 3)
        serving.resolve(1, "b")
        assert answers(sock, 1) == [[1, 1, None, "b"]]
        wait_until(lambda: len(serving.held) == 4)


def test_calls_that_were_never_begun_have_their_deadline(impatient: Serving) -> None:
    with impatient.connect() as sock:
        sock.sendall(b"".join(request(i, "begin") for i in range(5)))
        found = answers(sock, 5)
        assert {(msgid, error["code"]) for _, msgid, error, _ in found} == {
            (i, "deadline_exceeded") for i in range(5)
        }
        sock.sendall(request(9, "later", {"x": 1}))
        assert answers(sock, 1) == [[1, 9, None, {"x": 1}]]


def test_calls_that_were_never_begun_end_with_their_client(serving: Serving) -> None:
    with serving.connect() as sock:
        sock.sendall(b"".join(request(i, "begin") for i in range(5)))
        wait_until(lambda: len(serving.held) == 2)
    wait_until(lambda: serving.server.n_connections == 0)
    wait_until(lambda: all(future.cancelled() for future in serving.held))
    assert serving.pings()
    assert len(serving.held) == 2


def test_a_client_that_never_reads_is_cut_off_in_the_end(impatient: Serving) -> None:
    with impatient.connect() as sock:
        flood(sock, request(1, "bytes", {"n": 5000}) * 100, 8 << 20)
        wait_until(lambda: impatient.server.n_connections == 0)


def test_half_a_message_has_a_deadline(impatient: Serving) -> None:
    with impatient.connect() as sock:
        sock.sendall(request(1, "ping"))
        sock.sendall(request(2, "ping")[:-1])
        pong, (_, msgid, error, _) = answers(sock)
    assert pong == [1, 1, None, "pong"]
    assert (msgid, error["code"]) == (None, "deadline_exceeded")


def test_dribbling_does_not_move_the_deadline(impatient: Serving) -> None:
    def send_one_more() -> bool:
        sock.send(b"x")
        return has_answer(sock)

    with impatient.connect() as sock:
        sock.sendall(request(1, "echo", {"q": "x" * 100_000})[:20])
        sock.setblocking(False)
        wait_until(send_one_more)
        sock.settimeout(30)
        assert answers(sock)[0][2]["code"] == "deadline_exceeded"


def has_answer(sock: socket.socket) -> bool:
    try:
        return bool(sock.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False


def test_an_idle_connection_has_no_deadline(impatient: Serving) -> None:
    with impatient.connect() as sock, impatient.connect() as other:
        sock.sendall(request(1, "ping"))
        answers(sock, 1)
        other.sendall(b"\x94")
        answers(other)  # several sweeps have passed by now
        sock.sendall(request(2, "ping"))
        assert answers(sock, 1) == [[1, 2, None, "pong"]]


@pytest.mark.parametrize("method", ["hang", "hold"])
def test_a_call_has_a_deadline(impatient: Serving, method: str) -> None:
    with impatient.connect() as sock:
        sock.sendall(request(1, method))
        ((_, msgid, error, _),) = answers(sock, 1)
        assert (msgid, error["code"]) == (1, "deadline_exceeded")
        if method == "hang":
            wait_until(lambda: impatient.cancelled == ["hang"])
        else:
            impatient.resolve(0, "too late")  # not cancelled, and not sent either
        sock.sendall(request(2, "ping"))
        assert answers(sock, 1) == [[1, 2, None, "pong"]]


def test_a_client_that_leaves_takes_its_tasks_along(limited: Serving) -> None:
    with limited.connect() as sock:
        sock.sendall(request(1, "hang") + request(2, "hold") + request(3, "ping"))
        answers(sock, 1)
    wait_until(lambda: limited.cancelled == ["hang"])
    assert not limited.held[0].cancelled()
    limited.resolve(0, "nobody is there")


def test_closing_in_mid_call_leaks_no_descriptor(serving: Serving) -> None:
    def n_descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    serving.pings()
    wait_until(lambda: serving.server.n_connections == 0)
    before = n_descriptors()
    messages = request(1, "hang") + request(2, "hold") + request(3, "bytes", {"n": 100_000})
    for i in range(500):
        with serving.connect() as sock:
            sock.sendall(messages[: len(messages) - i % 25])
    wait_until(lambda: serving.server.n_connections == 0)
    wait_until(lambda: n_descriptors() <= before)
    assert serving.calls.count(("hang", False)) > 400
    wait_until(lambda: len(serving.cancelled) == serving.calls.count(("hang", False)))
    assert serving.pings()


def test_a_busy_connection_lets_others_have_their_turn(serving: Serving) -> None:
    order: list[Any] = []
    original: Callable[..., Any] = serving.server.dispatch

    def dispatch(method: str, params: Any, principal: Any, note: bool) -> Any:
        if method == "burn":
            total = sum(range(20_000))  # some hundred microseconds
            order.append("burn")
            return total
        order.append(method)
        return original(method, params, principal, note)

    serving.server.dispatch = dispatch
    with serving.connect() as busy, serving.connect() as other:
        other.sendall(request(0, "echo"))
        answers(other, 1)
        busy.sendall(request(1, "burn") * 2000)
        wait_until(lambda: "burn" in order)
        other.sendall(request(1, "ping"))
        assert answers(other, 1) == [[1, 1, None, "pong"]]
        assert order.index("ping") < 1900
        assert len(answers(busy, 2000)) == 2000
