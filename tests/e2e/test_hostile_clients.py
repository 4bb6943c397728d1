"""Clients that mean harm, many at once: what they cost is bounded, and others are served."""

import os
import resource
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest

from brain_daemon.client import Client
from brain_daemon.errors import Overloaded
from tests.daemon_process import Daemon
from tests.e2e.crowd import Crowd, fork_storm

PONG_BYTES = len(msgpack.packb([1, 1, None, "pong"]))
N_HOSTILE = 120
BYTES_PER_HOSTILE = 2_000_000
BYTES_PER_IDLE = 4096
N_IDLE = 10_000
N_OPENED_LATE = 16  # of the store's files, by each thread when it first needs them


def request(method: str, msgid: int = 1, **params: Any) -> bytes:
    return msgpack.packb([0, msgid, method, [params]])


PING = request("ping")


def n_descriptors(daemon: Daemon) -> int:
    return sum(1 for _ in Path(f"/proc/{daemon.pid}/fd").iterdir())


def memory_bytes(daemon: Daemon, field: str) -> int:
    """``RssAnon`` and ``VmRSS``: now; ``VmHWM``: the most since `forget_peak`."""
    text = Path(f"/proc/{daemon.pid}/status").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith(f"{field}:")]
    return int(line.split()[1]) * 1024


def forget_peak(daemon: Daemon) -> None:
    Path(f"/proc/{daemon.pid}/clear_refs").write_text("5")


def cpu_s(daemon: Daemon) -> float:
    return time.clock_gettime((~daemon.pid << 3) | 2)


def wait_until(condition: Callable[[], bool], client: Client) -> None:
    """Poll, a ping in between, so that the daemon must go on answering."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        assert client.ping() == "pong"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One daemon for all; it has some memories and must outlive everything."""
    daemon = Daemon(
        tmp_path_factory.mktemp("hostile") / "d",
        BRAIN_MAX_CONNECTIONS=str(N_IDLE + 1000),
        BRAIN_WRITE_TIMEOUT_MS="60000",
    ).start()
    with daemon.client() as client:
        for i in range(100):
            client.remember(f"Fact {i} about ferries and the walrus of Lisbon. " * 40)
    yield daemon
    assert daemon.stop() == 0  # the same process throughout
    assert "failed" not in daemon.log.read_text()


@pytest.fixture
def bytes_before(target: Daemon) -> int:
    """What it takes before an attack, with what earlier ones left in the heap."""
    with target.client() as client:
        assert client.recall("ferries")["hits"]
    return memory_bytes(target, "VmRSS")


@pytest.fixture
def client(target: Daemon) -> Iterator[Client]:
    """Somebody else, connected before the attack."""
    with target.client() as connected:
        assert connected.ping() == "pong"
        yield connected
        assert connected.recall("ferries")["hits"]


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_NOFILE)[1] < N_IDLE + 1500, reason="needs more open files"
)
def test_ten_thousand_idle_connections(target: Daemon, client: Client) -> None:
    with Crowd(target, 500, PING, PONG_BYTES):  # what is kept for later is not counted
        pass
    wait_until(lambda: n_descriptors(target) < 100, client)
    n_before, before = n_descriptors(target), memory_bytes(target, "RssAnon")
    with Crowd(target, N_IDLE // 2, PING, PONG_BYTES), Crowd(target, N_IDLE // 2, PING, PONG_BYTES):
        assert n_descriptors(target) >= N_IDLE
        per_connection = (memory_bytes(target, "RssAnon") - before) / N_IDLE
        print(f"idle: {per_connection:.0f} bytes a connection")
        assert per_connection <= BYTES_PER_IDLE
        assert client.recall("ferries")["hits"]
        with Crowd(target, 1020), target.client() as surplus, pytest.raises(Overloaded):
            surplus.ping()
        wait_until(lambda: n_descriptors(target) <= n_before + N_IDLE, client)
        with target.client() as newcomer:
            assert newcomer.ping() == "pong"
    wait_until(lambda: n_descriptors(target) <= n_before + N_OPENED_LATE, client)


def half(size: int) -> bytes:
    return request("remember", text="x" * size)[:-1]


ATTACKS: dict[str, bytes] = {
    "half messages": half(8_000_000),
    "half messages of many entries": request("import", records=[[]] * 190_000)[:-1],
    "whole messages": request("recall", q="x" * 8_000_000),
    "4 GiB declared": b"\x94\x00\x01\xa6recall\x91\x81\xa1q\xdb\xff\xff\xff\xff" + bytes(100_000),
    "empty lists": request("recall", q=[[]] * 190_000),
    "empty maps": request("recall", q=[{}] * 190_000),
    "texts": request("recall", q=["αβγδεζηθι"] * 190_000),
    "keys": request("recall", q={str(i): i for i in range(95_000)}),
    "unknown parameters": request("recall", **{str(i): i for i in range(95_000)}),
    "recalls never read": request("recall", q="ferries", k=100) * 400,
    "lists never read": request("documents", limit=1000) * 400,
    "exports never read": request("export") * 400,
    "greetings never read": request("hello") * 2000,
    "writes never read": request("remember", text="the same walrus again. " * 4000) * 20,
    "imports never read": request("import", records=[["x"] * 4000]) * 5,
}


def send_what_goes(sock: socket.socket, data: bytes) -> int:
    sock.setblocking(False)
    try:
        return sock.send(data)
    except (BlockingIOError, BrokenPipeError, ConnectionResetError):
        return 0


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_client_costs_little_memory(
    target: Daemon, bytes_before: int, client: Client, name: str
) -> None:
    data = ATTACKS[name]
    forget_peak(target)
    crowd = [socket.socket(socket.AF_UNIX) for _ in range(N_HOSTILE)]
    try:
        sent = dict.fromkeys(crowd, 0)
        for sock in crowd:
            sock.connect(str(target.socket))
        n_idle_rounds = 0
        while n_idle_rounds < 20:  # until the daemon takes no more
            n_bytes = 0
            for sock in crowd:
                n_taken = send_what_goes(sock, data[sent[sock] : sent[sock] + (1 << 18)])
                sent[sock] += n_taken
                n_bytes += n_taken
            assert client.ping() == "pong"
            n_idle_rounds = 0 if n_bytes else n_idle_rounds + 1
        assert client.recall("walrus")["hits"]
        extra = memory_bytes(target, "VmHWM") - bytes_before
        print(f"{name}: {extra / N_HOSTILE / 1e6:.2f} MB a client")
        assert extra <= N_HOSTILE * BYTES_PER_HOSTILE
    finally:
        for sock in crowd:
            sock.close()


def test_a_fork_storm_leaves_nothing_behind(target: Daemon, client: Client) -> None:
    n_before = n_descriptors(target)
    sent = PING + request("recall", q="ferries") + request("verify", chunk_id=1, claim="Lisbon")
    fork_storm(target, 200, sent)
    wait_until(lambda: n_descriptors(target) <= n_before + N_OPENED_LATE, client)


def test_ten_thousand_closes_in_mid_call(target: Daemon, client: Client) -> None:
    read = request("recall", q="walrus", k=1, graph=False)
    rest = request("verify", chunk_id=1, claim="Lisbon") + request("remember", text="gone")

    def close_in_mid_call(number: int) -> None:
        for i in range(number):
            message = read if i % 20 else read + rest  # a commit takes its time
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(str(target.socket))
                sock.sendall(message[: len(message) - i % 9])
            if i % 100 == 0:
                assert client.ping() == "pong"
        wait_until(lambda: n_descriptors(target) <= n_before + N_OPENED_LATE, client)

    n_before = n_descriptors(target)
    close_in_mid_call(1000)
    before = memory_bytes(target, "RssAnon")
    close_in_mid_call(9000)
    assert memory_bytes(target, "RssAnon") - before < 8_000_000  # under a kilobyte each


def test_who_never_reads_is_cut_off_and_the_log_says_so(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "d", BRAIN_WRITE_TIMEOUT_MS="300").start()
    with daemon.client() as client, socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(daemon.socket))
        sock.sendall(PING)
        assert sock.recv(PONG_BYTES)
        n_before = n_descriptors(daemon)
        while send_what_goes(sock, request("hello") * 2000):
            assert client.ping() == "pong"
        wait_until(lambda: n_descriptors(daemon) < n_before, client)
        log = daemon.log.read_text()
        assert f"cut off a client that read no answer for 0.3 s: pid {os.getpid()}" in log
    assert daemon.stop() == 0


@pytest.mark.parametrize(("n_files", "n_clients"), [(80, 400), (300, 200)])
def test_all_descriptors_taken(tmp_path: Path, n_files: int, n_clients: int) -> None:
    daemon = Daemon(tmp_path / "d")
    daemon.wrapper = ["prlimit", f"--nofile={n_files}:{n_files}"]
    daemon.start()
    with daemon.client() as client:
        client.remember("The walrus is asleep")
        with Crowd(daemon, n_clients):
            wait_until(lambda: n_descriptors(daemon) >= n_files // 2, client)
            before = cpu_s(daemon)
            with socket.socket(socket.AF_UNIX) as surplus:
                surplus.settimeout(1.0)
                surplus.connect(str(daemon.socket))
                try:
                    surplus.sendall(PING)
                    told = surplus.recv(4096)  # either why, or nothing, or no answer for a second
                except (TimeoutError, ConnectionResetError, BrokenPipeError):
                    told = b""
            assert cpu_s(daemon) - before < 0.5  # it does not try again and again
            if n_files == 300:  # enough for some to be kept back
                assert b"overloaded" in told
                assert client.health(deep=True)["reasons"] == []
            assert client.remember("The heron is awake")["created"]
            assert len(client.recall("walrus heron")["hits"]) == 2
        wait_until(lambda: n_descriptors(daemon) < 40, client)
        with daemon.client() as newcomer:
            assert newcomer.ping() == "pong"
    assert daemon.stop() == 0
