"""Locks, socket path, signals: one daemon per store and path, and none harms another."""

import os
import shutil
import signal
import socket
import stat
from pathlib import Path

import msgpack
import pytest

from brain_daemon.client import Client
from brain_daemon.daemon.main import EXIT_CONFIGURATION, EXIT_TEMPORARY
from tests.daemon_process import Daemon
from tests.protocol.serving import wait_until


def test_sigterm_drains_and_exits_zero(daemon: Daemon) -> None:
    with daemon.client() as client:
        assert client.ping() == "pong"
        assert daemon.stop() == 0
    assert not daemon.socket.exists()


def test_sigint_is_a_clean_stop_too(daemon: Daemon) -> None:
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGINT)
    assert daemon.process.wait(timeout=30) == 0


def test_sighup_while_it_starts_is_a_reload_and_not_the_end(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    file = tmp_path / "config.toml"
    os.mkfifo(file)
    with daemon.ready_channel() as channel:
        daemon.process = daemon.spawn("--config", str(file))
        with file.open("wb"):  # it is there when the daemon reads
            file.unlink()
            file.write_text("slow_call_ms = 251\n")
            daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_ready(channel)
    with daemon.client() as client:
        assert client.ping() == "pong"
    assert "reloaded" in daemon.log.read_text()
    assert daemon.stop() == 0


def test_who_waits_to_be_accepted_is_answered_before_the_end(daemon: Daemon) -> None:
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGSTOP)
    crowd = [socket.socket(socket.AF_UNIX) for _ in range(20)]
    for sock in crowd:
        sock.settimeout(30)
        sock.connect(str(daemon.socket))
        sock.sendall(msgpack.packb([0, 1, "ping", []]))
    daemon.process.send_signal(signal.SIGTERM)
    daemon.process.send_signal(signal.SIGCONT)
    for sock in crowd:
        assert msgpack.unpackb(sock.recv(100))[3] == "pong"
        sock.close()
    assert daemon.process.wait(timeout=30) == 0


def test_socket_is_private_from_its_first_moment(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        daemon = Daemon(tmp_path).start()
    finally:
        os.umask(previous)
    try:
        assert stat.S_IMODE(daemon.socket.stat().st_mode) == 0o600
        assert stat.S_IMODE(daemon.socket.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(daemon.store.stat().st_mode) == 0o700
        for file in daemon.store.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    finally:
        daemon.stop()


def test_umask_leaves_no_moment_between_bind_and_mode(tmp_path: Path) -> None:
    """The daemon is held where it has just bound; the file is private already."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    daemon = Daemon(tmp_path)
    daemon.wrapper = ["strace", "-D", "-f", "-o", str(tmp_path / "trace"), "-e", "trace=bind"]
    daemon.wrapper += ["-e", "inject=bind:delay_exit=4000000"]  # in us
    previous = os.umask(0)
    try:
        daemon.process = process = daemon.spawn()
    finally:
        os.umask(previous)
    try:
        wait_until(lambda: daemon.socket.exists() or process.poll() is not None)
        mode = stat.S_IMODE(daemon.socket.stat().st_mode)
        assert "serving" not in daemon.log.read_text()
        assert mode == 0o600
        wait_until(lambda: "serving" in daemon.log.read_text())
        assert daemon.stop() == 0
    finally:
        process.kill()


def refused(daemon: Daemon, *options: str) -> tuple[int, str]:
    process = daemon.spawn(*options, PIPE="1")
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors.decode()


def test_second_daemon_on_the_store_exits_75_naming_the_holder(daemon: Daemon) -> None:
    code, message = refused(daemon, "--socket", str(daemon.socket.parent / "other.sock"))
    assert code == EXIT_TEMPORARY == 75
    assert f"pid {daemon.pid}" in message
    with daemon.client() as client:
        assert client.ping() == "pong"


def test_second_store_on_the_socket_path_exits_75_and_leaves_the_socket(daemon: Daemon) -> None:
    code, message = refused(daemon, "--store", str(daemon.store.parent / "other"))
    assert code == EXIT_TEMPORARY
    assert f"pid {daemon.pid}" in message
    with daemon.client() as client:
        assert client.ping() == "pong"


@pytest.mark.parametrize("contested", ["store and socket", "store", "socket"])
def test_daemons_at_once_one_serves(tmp_path: Path, contested: str) -> None:
    """The losers, started within the same 100 ms, leave the winner's lock and socket alone."""
    daemon = Daemon(tmp_path)
    folders = [tmp_path / str(number) for number in range(4)]
    processes = []
    with daemon.ready_channel() as channel:
        for folder in folders:
            options = {
                "store and socket": [],
                "store": ["--socket", str(folder / "brain.sock")],
                "socket": ["--store", str(folder / "store")],
            }
            processes.append(daemon.spawn(*options[contested]))
        daemon.wait_ready(channel)
    try:
        wait_until(lambda: sum(process.poll() is None for process in processes) == 1)
        (winner,) = [process for process in processes if process.poll() is None]
        codes = [process.returncode for process in processes if process is not winner]
        assert codes == [EXIT_TEMPORARY] * 3, daemon.log.read_text()
        told = daemon.log.read_text().count(f"in use by pid {winner.pid}")
        assert told == 3, daemon.log.read_text()
        path = folders[processes.index(winner)] / "brain.sock"
        with Client(path if contested == "store" else daemon.socket) as client:
            assert client.health()["pid"] == winner.pid
        winner.send_signal(signal.SIGTERM)
        assert winner.wait(timeout=30) == 0
    finally:
        for process in processes:
            process.kill()  # no daemon outlives a failure


def test_stale_socket_after_kill_is_replaced(daemon: Daemon) -> None:
    with daemon.client() as client:
        client.remember(text="the boiler needs bleeding each October")
    daemon.kill()
    assert daemon.socket.exists()
    daemon.start()
    with daemon.client() as client:
        assert client.recall(q="boiler")["hits"]


@pytest.mark.parametrize(
    "kind", ["file", "folder", "dangling link", "link to a file", "live socket"]
)
def test_foreign_thing_at_the_path_is_refused_and_left(tmp_path: Path, kind: str) -> None:
    daemon = Daemon(tmp_path)
    daemon.socket.parent.mkdir(mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    target = tmp_path / "target"
    if kind == "file":
        daemon.socket.write_text("precious")
    elif kind == "folder":
        daemon.socket.mkdir()
    elif kind == "dangling link":
        daemon.socket.symlink_to(target)
    elif kind == "link to a file":
        target.write_text("precious")
        daemon.socket.symlink_to(target)
    else:
        listener.bind(str(daemon.socket))
        listener.listen()
    before = daemon.socket.lstat()
    with listener:
        code, message = refused(daemon)
    assert code == EXIT_TEMPORARY
    assert str(daemon.socket) in message
    after = daemon.socket.lstat()
    assert (after.st_ino, after.st_mode, after.st_mtime) == (
        before.st_ino,
        before.st_mode,
        before.st_mtime,
    )


def test_too_long_socket_path_says_the_limit(tmp_path: Path) -> None:
    code, message = refused(Daemon(tmp_path), "--socket", str(tmp_path / ("s" * 120)))
    assert code == EXIT_TEMPORARY
    assert "107" in message


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("BRAIN_RECALL_GRAPH_ENABLE", "false", "BRAIN_RECALL_GRAPH_ENABLED"),
        ("BRAIN_MAX_IN_FLIGHT", "0", "1 to"),
        ("BRAIN_MAX_IN_FLIGHT", "many", "type int"),
        ("BRAIN_RECALL_GRAPH_ENABLED", "perhaps", "type bool"),
        ("BRAIN_LANGUAGE", "klingon", "klingon"),
    ],
)
def test_bad_setting_is_named_at_start(
    tmp_path: Path, variable: str, value: str, words: str
) -> None:
    code, message = refused(Daemon(tmp_path, **{variable: value}))
    assert code == EXIT_CONFIGURATION
    assert words in message


def test_unknown_key_in_the_file_names_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "brain.toml"
    file.write_text("recall_graph_enable = false\n")
    code, message = refused(Daemon(tmp_path), "--config", str(file))
    assert code == EXIT_CONFIGURATION
    assert "recall_graph_enabled" in message


def test_flag_beats_environment_beats_file(tmp_path: Path) -> None:
    file = tmp_path / "brain.toml"
    file.write_text('log_level = "error"\nmax_in_flight = 7\nwrite_batch = 5\n')
    daemon = Daemon(tmp_path, BRAIN_LOG_LEVEL="warning", BRAIN_MAX_IN_FLIGHT="9")
    daemon.start("--config", str(file), "--log-level", "debug")
    with daemon.client() as client:
        settings = {row["name"]: row for row in client.call("config")["settings"]}
    assert daemon.stop() == 0
    assert (settings["log_level"]["value"], settings["log_level"]["source"]) == ("debug", "flag")
    assert (settings["max_in_flight"]["value"], settings["max_in_flight"]["source"]) == (
        9,
        "environment",
    )
    assert (settings["write_batch"]["value"], settings["write_batch"]["source"]) == (5, str(file))
    assert settings["write_queue"]["source"] == "default"
