"""What all connections hold together is bounded; small calls are served whatever others hold."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from brain_daemon.protocol.framing import Limits
from tests.protocol.serving import Serving, answers, request, wait_until

LIMITS = Limits(max_message_bytes=4 << 20, max_held_bytes=1_000_000, max_in_flight=64)
HALF = request(1, "echo", {"q": "x" * 700_000})[:-1]


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    with Serving(tmp_path / "s", LIMITS) as running:
        yield running
        wait_until(lambda: running.server.n_connections == 0)
        assert running.server.n_held_bytes == 0


def test_half_messages_are_bounded_together(serving: Serving) -> None:
    with serving.connect() as first, serving.connect() as second:
        first.sendall(HALF)
        wait_until(lambda: serving.server.n_held_bytes > 600_000)
        second.sendall(HALF)
        ((_, msgid, error, _),) = answers(second)
        assert (msgid, error["code"]) == (None, "overloaded")
        assert error["detail"]["retry_after_ms"] > 0
        assert "limit 1000000" in error["message"]
        assert serving.pings()
        # who was refused holds nothing any more, though it is still there
        first.sendall(request(1, "echo", {"q": "x" * 700_000})[-1:])
        ((_, _, error, result),) = answers(first, 1)
        assert (error, len(result["q"])) == (None, 700_000)
    with serving.connect() as third:  # the room was given back
        third.sendall(request(1, "echo", {"q": "x" * 700_000}))
        assert answers(third, 1)[0][2] is None


def test_a_single_half_message_has_its_bound_too(serving: Serving) -> None:
    with serving.connect() as sock:
        sock.sendall(request(1, "echo", {"q": "x" * 2_000_000})[:1_500_000])
        assert answers(sock)[0][2]["code"] == "overloaded"


def test_small_half_messages_do_not_count(serving: Serving) -> None:
    small = request(1, "echo", {"q": "x" * 60_000})
    crowd = [serving.connect() for _ in range(40)]
    for sock in crowd:
        sock.sendall(small[:-1])
    assert serving.pings()
    assert serving.server.n_held_bytes == 0
    for sock in crowd:
        sock.sendall(small[-1:])
        assert answers(sock, 1)[0][2] is None
        sock.close()


def test_large_answers_are_refused_while_others_leave_theirs_unread(serving: Serving) -> None:
    idle = [serving.connect() for _ in range(2)]
    for sock in idle:
        sock.sendall(request(1, "bytes", {"n": 900_000}))
    wait_until(lambda: serving.server.is_full)
    with serving.connect() as reader:
        reader.sendall(request(1, "bytes", {"n": 100_000}) + request(2, "bytes", {"n": 1000}))
        (_, _, error, _), (_, _, _, small) = answers(reader, 2)
        assert error["code"] == "overloaded"
        assert len(small) == 1000
        for sock in idle:
            sock.close()
        wait_until(lambda: serving.server.n_held_bytes == 0)
        reader.sendall(request(3, "bytes", {"n": 100_000}))
        assert len(answers(reader, 1)[0][3]) == 100_000


def test_open_requests_count_as_what_they_become(serving: Serving) -> None:
    entries = {"q": [[]] * 4000}  # 4 kB, and 64 bytes for each of 4,000 lists
    with serving.connect() as one, serving.connect() as other:
        one.sendall(b"".join(request(i, "hold", entries) for i in range(8)))
        wait_until(lambda: len(serving.held) >= 4)
        assert serving.pings()
        assert len(serving.held) == 5  # 1.3 MB, so the others wait
        other.sendall(b"".join(request(i, "hold", entries) for i in range(2)))
        wait_until(lambda: len(serving.held) == 6)  # who has none may have one
        assert serving.pings()
        assert len(serving.held) == 6
        for i in range(6):
            serving.resolve(i, "done")
        wait_until(lambda: len(serving.held) == 10)
        for i in range(6, 10):
            serving.resolve(i, "done")
        assert len(answers(one, 8)) == 8


def test_answers_count_before_their_connection_is_cut_off(serving: Serving) -> None:
    """Else each of thousands could leave a quarter of a megabyte unread for ever."""
    idle = [serving.connect() for _ in range(10)]
    for sock in idle:
        sock.sendall(request(1, "bytes", {"n": 42_000}) * 10)  # half of it stays with the kernel
    wait_until(lambda: serving.server.n_held_bytes > 100_000)
    for sock in idle:
        sock.close()
