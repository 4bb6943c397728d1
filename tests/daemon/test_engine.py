"""A store that cannot be opened is answered with the reason; a reload takes over what it can."""

import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brain_daemon import config
from brain_daemon.client import Client
from brain_daemon.daemon.engine import Engine
from brain_daemon.errors import (
    BadRequest,
    BrainError,
    ModelMismatch,
    SchemaTooNew,
    StoreDegraded,
)
from brain_daemon.lock import FileLock
from brain_daemon.store.connection import open_writer
from tests.daemon.activation import Activated, ask
from tests.daemon_process import Daemon
from tests.protocol.serving import wait_until
from tests.service.world import World


@pytest.fixture
def activated(tmp_path: Path) -> Iterator[Activated]:
    with Activated(tmp_path, XDG_CONFIG_HOME=str(tmp_path / "config")) as daemon:
        yield daemon


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The configuration that is read unasked."""
    (tmp_path / "config" / "brain-daemon").mkdir(parents=True)
    return tmp_path / "config" / "brain-daemon" / "config.toml"


def value_of(daemon: Daemon, name: str) -> Any:
    rows = ask(daemon, "config")["settings"]
    return next(row["value"] for row in rows if row["name"] == name)


def spoil(daemon: Activated, file: Path, kind: str) -> Any:
    """Bring about what keeps a daemon from opening its store; gives what must be kept alive."""
    database = daemon.store / "brain.db"
    daemon.store.mkdir()
    match kind:
        case "configuration":
            file.write_text("write_bach = 1\n")
        case "value":
            file.write_text('language = "klingon"\n')
        case "damaged":
            database.write_text("precious" * 1000)
        case "newer":
            with sqlite3.connect(database) as connection:
                connection.execute("PRAGMA user_version = 999")
            connection.close()
        case "folder":
            database.mkdir()
        case "model":
            World(daemon.store).close()
            with open_writer(database) as connection:
                connection.execute("UPDATE meta SET value = 'x' WHERE key = 'model_fingerprint'")
            connection.close()
        case "locked":
            return FileLock(daemon.store / "lock")
    return None


def mend(daemon: Activated, file: Path, held: Any) -> None:
    if held is not None:
        held.release()
    file.unlink(missing_ok=True)
    database = daemon.store / "brain.db"
    if database.is_dir():
        database.rmdir()
    for left in daemon.store.glob("brain.db*"):
        left.unlink()


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        ("configuration", StoreDegraded, "did you mean write_batch"),
        ("value", StoreDegraded, "klingon"),
        ("damaged", StoreDegraded, "damaged"),
        ("newer", SchemaTooNew, "999"),
        ("folder", StoreDegraded, "unable to open"),
        ("locked", StoreDegraded, f"in use by pid {os.getpid()}"),
        ("model", ModelMismatch, "reembed"),
    ],
)
def test_what_cannot_be_opened_is_told_to_every_caller_until_it_is_mended(
    activated: Activated, file: Path, kind: str, error: type[BrainError], words: str
) -> None:
    held = spoil(activated, file, kind)
    process = activated.spawn()
    status = activated.wait_notified("READY=1")
    assert "STATUS=degraded: " in status
    assert words in status
    for method, params in (("recall", {"q": "x"}), ("remember", {"text": "x"}), ("hello", {})):
        with pytest.raises(error, match=words) as caught:
            ask(activated, method, **params)
        assert type(caught.value) is error
    assert ask(activated, "ping") == "pong"
    health = ask(activated, "health")
    assert (health["status"], health["pid"]) == ("degraded", process.pid)
    assert words in health["reasons"][0]
    assert health["codes"] == [error.code]
    assert "STATUS=degraded: " in activated.reload()
    mend(activated, file, held)
    assert "STATUS=serving" in activated.reload()
    assert ask(activated, "remember", text="the quince was pruned")["created"]
    assert ask(activated, "health")["status"] == "ok"
    assert process.poll() is None
    assert activated.stop() == 0
    log = activated.log.read_text()
    assert "Traceback" not in log
    assert log.count("] degraded: ") + log.count("brain-daemon: degraded: ") <= 2


def test_degraded_daemon_still_checks_what_it_is_asked(activated: Activated, file: Path) -> None:
    spoil(activated, file, "damaged")
    activated.spawn()
    with pytest.raises(BadRequest, match="deeep"):
        ask(activated, "health", deeep=True)


def test_without_a_store_a_good_configuration_holds_all_the_same(
    activated: Activated, file: Path
) -> None:
    spoil(activated, file, "damaged")
    file.write_text('log_level = "debug"\nmax_connections = 1\n')
    activated.spawn()
    with Client(activated.socket) as first:
        with pytest.raises(StoreDegraded) as caught:
            first.recall("x")
        with pytest.raises(BrainError, match="limit 1"):
            ask(activated, "ping")
        file.unlink()
        activated.reload()
        assert ask(activated, "ping") == "pong"
    assert activated.stop() == 0
    request = caught.value.detail["request"]
    assert f"error answered code=store_degraded request={request}\n" in activated.log.read_text()


def test_good_configuration_is_taken_over(activated: Activated, file: Path) -> None:
    file.write_text("max_text_bytes = 2000\nslow_call_ms = 100\n")
    activated.spawn()
    assert value_of(activated, "max_text_bytes") == 2000
    with Client(activated.socket) as early:
        early.remember("x" * 1900)
        file.write_text('max_text_bytes = 1500\nlog_level = "error"\n')
        assert "STATUS=serving" in activated.reload()
        with pytest.raises(BrainError, match="1500"):
            early.remember("y" * 1900)
    assert value_of(activated, "log_level") == "error"
    assert value_of(activated, "slow_call_ms") == 250  # no longer in the file


def test_new_limits_hold_for_new_connections(activated: Activated, file: Path) -> None:
    activated.spawn()
    with Client(activated.socket) as client:
        client.ping()
        file.write_text("max_connections = 1\n")
        activated.reload()
        with pytest.raises(BrainError, match="limit 1"):
            ask(activated, "ping")
        file.unlink()
        activated.reload()
        assert ask(activated, "ping") == "pong"


@pytest.mark.parametrize("text", ["max_text_bytes = 1\n", "nonsense = 1\n", "= ="])
def test_bad_configuration_changes_nothing(activated: Activated, file: Path, text: str) -> None:
    file.write_text("max_text_bytes = 2000\n")
    process = activated.spawn()
    activated.wait_notified("READY=1")
    file.write_text("slow_call_ms = 5\n" + text)
    assert "STATUS=not reloaded, all stays as it was: " in activated.reload()
    assert value_of(activated, "max_text_bytes") == 2000
    assert value_of(activated, "slow_call_ms") == 250
    health = ask(activated, "health")
    assert (health["status"], health["codes"]) == ("degraded", ["reload_refused"])
    assert "the last reload was refused" in health["reasons"][0]
    file.write_text("max_text_bytes = 3000\n")
    assert "STATUS=serving" in activated.reload()
    assert value_of(activated, "max_text_bytes") == 3000
    assert ask(activated, "health")["status"] == "ok"
    assert process.poll() is None


def test_bad_policy_is_a_reason_until_it_is_mended(activated: Activated, file: Path) -> None:
    policy = file.with_name("policy.toml")
    good = f'version = 1\n[[rule]]\nuid = {os.getuid()}\nroles = ["admin"]\nprincipal = "me"\n'
    policy.write_text(good)
    policy.chmod(0o600)
    activated.spawn()
    assert ask(activated, "health")["codes"] == []
    policy.write_text(good + "nonsense = 1\n")
    with pytest.raises(BadRequest, match="nonsense"):
        ask(activated, "policy.reload")
    health = ask(activated, "health")
    assert health["codes"] == ["reload_refused"]
    assert "nonsense" in health["reasons"][0]
    policy.write_text(good)
    ask(activated, "policy.reload")
    assert ask(activated, "health")["codes"] == []


def test_what_is_read_at_the_start_only_waits_for_the_next(
    activated: Activated, file: Path
) -> None:
    activated.spawn()
    activated.wait_notified("READY=1")
    file.write_text('language = "none"\nwrite_batch = 7\n')
    activated.reload()
    assert value_of(activated, "language") == "english"
    assert "language, write_batch changed" in activated.log.read_text()
    assert activated.stop() == 0
    activated.spawn()
    activated.wait_notified("READY=1")
    assert value_of(activated, "language") == "none"


def test_reload_command_checks_first(activated: Activated, file: Path) -> None:
    process = activated.spawn()
    activated.wait_notified("READY=1")
    file.write_text("max_text_bytes = 2000\n")
    done = activated.serverctl("reload", str(process.pid))
    assert (done.returncode, done.stderr) == (0, "")
    activated.wait_notified("RELOADING=1")
    activated.wait_notified("READY=1")
    assert value_of(activated, "max_text_bytes") == 2000
    file.write_text("max_text_byte = 3000\n")
    done = activated.serverctl("reload", str(process.pid))
    assert done.returncode == 78
    assert "did you mean max_text_bytes" in done.stderr
    file.unlink()
    assert activated.serverctl("reload", "4194300").returncode == 78  # no such process
    assert not [m for m in activated.notified if "not reloaded" in m]


def test_daemon_started_by_hand_reloads_its_own_file(tmp_path: Path) -> None:
    file = tmp_path / "given.toml"
    file.write_text("max_text_bytes = 2000\n")
    daemon = Daemon(tmp_path).start("--config", str(file))
    file.write_text("max_text_bytes = 3000\n")
    os.kill(daemon.pid, signal.SIGHUP)
    wait_until(lambda: "reloaded" in daemon.log.read_text())
    assert value_of(daemon, "max_text_bytes") == 3000
    assert daemon.stop() == 0


def test_ended_writer_is_a_fault(tmp_path: Path) -> None:
    engine = Engine(lambda: config.load({"store": str(tmp_path / "store")}, {}))
    assert engine.find_fault() is None  # nothing is open, and nothing is wrong with the process
    engine.open()
    assert engine.memory is not None
    try:
        assert engine.find_fault() is None
        engine.memory.writer.stop()
        wait_until(lambda: engine.find_fault() is not None)
        assert "writer thread" in str(engine.find_fault())
    finally:
        engine.dispatch.close()


def test_engine_that_could_not_open_holds_no_lock(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (store / "brain.db").write_text("precious" * 1000)
    engine = Engine(lambda: config.load({"store": str(store)}, {}))
    with pytest.raises(StoreDegraded):
        engine.open()
    FileLock(store / "lock").release()
