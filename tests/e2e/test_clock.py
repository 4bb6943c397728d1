"""The wall clock jumps by a day, stands still, or begins in 1970: nothing but dates may change."""

import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import msgpack
import pytest

from brain_daemon.client import Client
from brain_daemon.errors import DeadlineExceeded
from brain_daemon.store import checksums
from brain_daemon.store.connection import DATABASE_NAME
from brain_daemon.timestamps import parse_us
from tests.daemon.activation import Activated, ask
from tests.daemon_process import Daemon
from tests.faked_clock import DAY_S, Clock

PATIENCE_S = 30  # far more than any time-out here, far less than a day
JUMPS = pytest.mark.parametrize("jump_s", [DAY_S, -DAY_S])


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path)


Start = Callable[..., Daemon]


@pytest.fixture
def start(tmp_path: Path, clock: Clock) -> Iterator[Start]:
    """Start a daemon that goes by the clock."""
    daemons = []

    def start(**environment: str) -> Daemon:
        daemon = Daemon(tmp_path, **clock.environment, **environment)
        daemons.append(daemon)
        return daemon.start()

    yield start
    for daemon in daemons:
        if daemon.process is not None and daemon.process.poll() is None:
            assert daemon.stop() == 0, daemon.log.read_text()


def made_at(client: Client, chunk_id: int) -> float:
    return parse_us(client.get(id=chunk_id)["created_at"], "created_at") / 1e6


def found(client: Client, q: str, **options: Any) -> list[str]:
    return [hit["uri"] for hit in client.recall(q=q, **options)["hits"]]


def connect(daemon: Daemon) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(PATIENCE_S)
    sock.connect(str(daemon.socket))
    return sock


def request(method: str, **params: Any) -> bytes:
    data: bytes = msgpack.packb([0, 1, method, [params]])
    return data


def response(sock: socket.socket) -> Any:
    unpacker = msgpack.Unpacker()
    while data := sock.recv(65536):
        unpacker.feed(data)
        for message in unpacker:
            return message
    return None


@JUMPS
def test_the_clock_of_the_daemon_jumps(start: Start, clock: Clock, jump_s: int) -> None:
    """What the other tests here rest on."""
    with start().client() as client:
        (before,) = client.remember("one")["chunk_ids"]
        clock.jump(jump_s)
        (after,) = client.remember("two")["chunk_ids"]
        apart = made_at(client, after) - made_at(client, before)
    assert jump_s <= apart < jump_s + PATIENCE_S


# ---- time-outs


@JUMPS
def test_no_connection_and_no_call_ends_by_a_jump(start: Start, clock: Clock, jump_s: int) -> None:
    daemon = start(BRAIN_MESSAGE_TIMEOUT_MS="120000", BRAIN_CALL_TIMEOUT_MS="120000")
    with connect(daemon) as silent, connect(daemon) as halfway, daemon.client() as idle:
        assert idle.ping() == "pong"
        half = request("ping")
        halfway.sendall(half[:5])
        with daemon.client(timeout_s=120) as busy:
            texts = [f"note {i} of the river" for i in range(100)]
            outcomes = busy.pipeline((("remember", {"text": text}) for text in texts), in_flight=25)
            stored = []
            for n_answered, outcome in enumerate(outcomes):
                if n_answered % 25 == 10:  # as many are under way, in one commit or two
                    clock.jump(jump_s if n_answered % 50 == 10 else 0)
                stored.append(outcome["id"])
            assert stored == sorted(stored)
            assert len(set(stored)) == len(texts)
        clock.jump(jump_s)
        halfway.sendall(half[5:])
        silent.sendall(half)
        assert response(halfway)[3] == response(silent)[3] == idle.ping() == "pong"


@JUMPS
def test_half_a_message_runs_out_of_time_all_the_same(
    start: Start, clock: Clock, jump_s: int
) -> None:
    daemon = start(BRAIN_MESSAGE_TIMEOUT_MS="1500")
    with connect(daemon) as sock:
        began = time.monotonic()
        sock.sendall(request("ping") + request("ping")[:5])
        assert response(sock)[3] == "pong"  # so the half is read, too
        clock.jump(jump_s)
        assert response(sock)[2]["code"] == "deadline_exceeded"
        assert time.monotonic() - began >= 1.4


@JUMPS
def test_a_call_runs_out_of_time_all_the_same(start: Start, clock: Clock, jump_s: int) -> None:
    daemon = start(BRAIN_CALL_TIMEOUT_MS="1500")
    other = apsw.Connection(str(daemon.store / DATABASE_NAME), vfs=checksums.file_system())
    other.execute("BEGIN IMMEDIATE")  # no commit gets by
    with daemon.client(timeout_s=PATIENCE_S) as client:
        began = time.monotonic()
        threading.Timer(0.2, clock.jump, (jump_s,)).start()
        with pytest.raises(DeadlineExceeded, match=r"no result in 1\.5 s"):
            client.remember("the river")
        assert time.monotonic() - began >= 1.4
        other.execute("ROLLBACK")
        assert client.remember("the bridge")["created"]
    other.close()


@JUMPS
def test_a_client_that_does_not_read_is_cut_off_all_the_same(
    start: Start, clock: Clock, jump_s: int
) -> None:
    daemon = start(BRAIN_WRITE_TIMEOUT_MS="1500")
    with connect(daemon) as sock:
        sock.setblocking(False)
        question = request("config")
        poll = select.poll()
        poll.register(sock, select.POLLOUT)
        while poll.poll(500):  # until the daemon takes no more
            try:
                sock.send(question)
            except BlockingIOError:
                break
        clock.jump(jump_s)
        poll.modify(sock, 0)  # POLLHUP
        assert poll.poll(PATIENCE_S * 1000)


@JUMPS
def test_the_watchdog_is_kicked_on(tmp_path: Path, clock: Clock, jump_s: int) -> None:
    with Activated(tmp_path, WATCHDOG_USEC="1500000", **clock.environment) as daemon:
        daemon.spawn()
        daemon.wait_notified("WATCHDOG=1")
        clock.jump(jump_s)
        for _ in range(4):  # one may have been under way
            daemon.wait_notified("WATCHDOG=1")
        assert ask(daemon, "ping") == "pong"


# ---- expiry: the clock decides what is seen, and nothing is lost by it


def test_what_a_jump_hides_is_back_when_the_clock_is(start: Start, clock: Clock) -> None:
    with start().client() as client:
        soon = int(time.time()) + 3600
        tags: dict[str, Any] = {"uri": "key", "entities": ["Marta"]}
        (id_,) = client.remember("Marta has the boiler key", expires_at=soon, **tags)["chunk_ids"]
        client.remember("Marta has the red car", uri="car", entities=["Marta"])
        trace = client.recall(q="Marta boiler key", trace=True)["trace_id"]
        for offset_s in (0, DAY_S, 0, -DAY_S, DAY_S, 0):
            clock.jump(offset_s)
            # A row that comes in meanwhile extends the masks that were made before.
            client.remember(f"Marta was here {offset_s}", uri=f"at {offset_s}")
            hits = found(client, "boiler key Marta", k=10)
            assert "car" in hits
            assert ("key" in hits) == (offset_s < DAY_S)
            assert "key" in found(client, "boiler key Marta", k=10, include_decayed=True)
            decayed = [chunk["id"] for chunk in client.call("decayed")["chunks"]]
            assert decayed == ([id_] if offset_s == DAY_S else [])
            assert client.call("trace", trace_id=trace)["trace_id"] == trace
        assert client.health(deep=True)["reasons"] == []


def test_expiry_is_at_the_instant_whatever_zone_names_it(start: Start, clock: Clock) -> None:
    """In New York the clock is put forward in this hour, so that half past two does not exist."""
    instant = 1_772_937_000  # 2026-03-08T02:30:00Z
    daemon = start(TZ="America/New_York")
    given = {
        "naive": "2026-03-08T02:30:00",
        "zulu": "2026-03-08T02:30:00Z",
        "kathmandu": "2026-03-08T08:15:00+05:45",
        "new york": "2026-03-07T21:30:00-05:00",
        "epoch": instant,
        "fraction": instant + 0.0,
    }
    clock.stop_at(instant - 1)
    with daemon.client() as client:
        for uri, expires_at in given.items():
            client.remember(f"the heron of {uri}", uri=uri, expires_at=expires_at)
        assert sorted(found(client, "heron", k=9)) == sorted(given)
        clock.stop_at(instant)
        assert found(client, "heron", k=9) == []
        clock.stop_at(instant - 1)
        assert sorted(found(client, "heron", k=9)) == sorted(given)


@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Kiritimati"])
def test_since_and_until_are_utc_whatever_the_zone(start: Start, clock: Clock, zone: str) -> None:
    midnight = 1_772_928_000  # 2026-03-08T00:00:00Z
    daemon = start(TZ=zone)
    with daemon.client() as client:
        for uri, epoch_s in (("before", midnight - 1), ("at", midnight), ("after", midnight + 1)):
            clock.stop_at(epoch_s)
            client.remember(f"the heron came {uri}", uri=uri)
        (found_at,) = [hit for hit in client.recall(q="heron", k=9)["hits"] if hit["uri"] == "at"]
        assert found_at["created_at"] == "2026-03-08T00:00:00Z"
        for since in ("2026-03-08", "2026-03-08T00:00", "2026-03-08T14:00+14:00", midnight):
            assert sorted(found(client, "heron", since=since)) == ["after", "at"]
            assert found(client, "heron", until=since) == ["before"]


# ---- order


@pytest.mark.parametrize("step_s", [-DAY_S, 0])
def test_order_is_that_of_arrival_when_the_clock_goes_back(
    start: Start, clock: Clock, step_s: int
) -> None:
    daemon = start()
    began = int(time.time())
    with daemon.client() as client:
        for i in range(4):
            clock.stop_at(began + i * step_s)
            record = client.remember(f"the plan, as of meeting {i}", uri="plan")
            assert (record["revision"], record["unchanged"]) == (i + 1, False)
            client.remember("the same heron", uri=f"heron {i}")
            for thread, seq in (("told", i), ("untold", None)):
                client.remember(f"turn {i}", uri=f"{thread} {i}", thread=thread, seq=seq)
        hits = client.recall(q="meeting plan")["hits"]
        (plan,) = [hit["text"] for hit in hits if hit["uri"] == "plan"]
        assert plan == "the plan, as of meeting 3"
        listed = [document["uri"] for document in client.call("documents")["documents"]]
        assert [uri for uri in listed if uri.startswith("heron")] == [
            f"heron {i}" for i in range(4)
        ]
        generation = client.call("stats")["generation"]
        client.remember("the plan, as of meeting 3", uri="plan")  # unchanged
        assert client.call("stats")["generation"] == generation
    assert daemon.stop() == 0
    conn = apsw.Connection(str(daemon.store / DATABASE_NAME), vfs=checksums.file_system())
    for thread in ("told", "untold"):
        before = None
        for i in range(4):
            row = "FROM chunk JOIN document ON document.id = document_id WHERE uri = ?"
            uri = f"{thread} {i}"
            assert conn.execute(f"SELECT previous_id {row}", (uri,)).get == before
            before = conn.execute(f"SELECT chunk.id {row}", (uri,)).get
    conn.close()


@JUMPS
def test_audit_log_is_a_chain_whatever_the_clock_says(
    start: Start, clock: Clock, jump_s: int
) -> None:
    daemon = start()
    with daemon.client() as client:
        for offset_s in (0, jump_s, 0):
            clock.jump(offset_s)
            client.forget(uri=client.remember(f"gone {offset_s}")["uri"])
        verdict = client.call("audit.verify")
        records = client.call("audit.list")["records"]
    assert verdict["findings"] == []
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    stamps = [parse_us(r["at"], "at") / 1e6 for r in records if r["event"] == "forget"]
    assert abs(stamps[1] - stamps[0] - jump_s) < PATIENCE_S
    assert abs(stamps[2] - stamps[1] + jump_s) < PATIENCE_S


# ---- across a restart


@pytest.mark.parametrize("start_at", ["a day later", "a day before", "1970"])
def test_a_store_opens_whatever_the_clock_says(
    start: Start, clock: Clock, tmp_path: Path, start_at: str
) -> None:
    daemon = start()
    with daemon.client() as client:
        client.remember("the boiler key is under the mat", uri="key")
    daemon.kill()
    clock.jump({"a day later": DAY_S, "a day before": -DAY_S}.get(start_at, -int(time.time())))
    daemon.start()
    with daemon.client() as client:
        assert found(client, "boiler key") == ["key"]
        (id_,) = client.remember("the car key is in the bowl", uri="car")["chunk_ids"]
        if start_at == "1970":
            assert client.get(id=id_)["created_at"].startswith("1970-01-01T00:00")
        assert sorted(found(client, "where is the key")) == ["car", "key"]
        backup = client.call("backup", path=str(tmp_path / "backup.db"))
        assert backup["documents"] == 2
        assert client.health(deep=True)["reasons"] == []


def test_restores_at_one_moment_keep_all_that_they_replace(
    start: Start, clock: Clock, tmp_path: Path
) -> None:
    daemon = start()
    backup = str(tmp_path / "backup.db")
    with daemon.client() as client:
        client.remember("the first")
        client.call("backup", path=backup)
    assert daemon.stop() == 0
    clock.stop_at(1_772_937_000)
    for _ in range(3):
        store = ("--store", str(daemon.store))
        daemon.cli("restore", backup, *store, env={**os.environ, **clock.environment})
    kept = sorted(path.name for path in daemon.store.glob("replaced-*"))
    assert kept == [f"replaced-20260308T023000Z{end}" for end in ("", "-2", "-3")]
