"""Inherited sockets by name, and what systemd is told and when."""

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brain_daemon.client import Client
from brain_daemon.daemon import systemd
from brain_daemon.daemon.main import EXIT_CONFIGURATION
from tests.daemon.activation import Activated, ask


@pytest.fixture
def activated(tmp_path: Path) -> Iterator[Activated]:
    with Activated(tmp_path) as daemon:
        yield daemon


def test_inherited_socket_is_served_and_left(activated: Activated) -> None:
    """The path is not ours to remove, and who connected early is answered."""
    with Client(activated.socket) as early:
        early.connect()
        activated.spawn()
        assert early.ping() == "pong"
    assert ask(activated, "remember", text="activated by the manager")["created"]
    assert activated.stop() == 0
    assert activated.socket.exists()


def test_socket_is_taken_by_its_name(activated: Activated, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "other.sock"))
        other.listen()
        activated.spawn_with({"metrics": other, "brain": activated.listener})
        assert ask(activated, "ping") == "pong"


def test_single_socket_without_a_name_is_taken(activated: Activated) -> None:
    activated.spawn_with({"": activated.listener})
    assert ask(activated, "ping") == "pong"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("another name", "FileDescriptorName=brain"),
        ("datagrams", "listening Unix stream socket"),
        ("connected", "listening Unix stream socket"),
        ("internet", "listening Unix stream socket"),
        ("a file", "not a socket"),
    ],
)
def test_unfit_socket_is_refused_with_the_cure(
    activated: Activated, tmp_path: Path, kind: str, words: str
) -> None:
    near, far = socket.socketpair()
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    internet = socket.create_server(("127.0.0.1", 0))
    with near, far, datagrams, internet, (tmp_path / "x").open("w") as file:
        passed: dict[str, dict[str, Any]] = {
            "another name": {"metrics": activated.listener},
            "datagrams": {"brain": datagrams},
            "connected": {"brain": near},
            "internet": {"brain": internet},
            "a file": {"brain": file},
        }
        process = activated.spawn_with(passed[kind])
        assert process.wait(timeout=60) == EXIT_CONFIGURATION
    log = activated.log.read_text()
    assert words in log
    assert "Traceback" not in log


def test_sockets_of_another_process_are_left_alone() -> None:
    environ = {"LISTEN_PID": str(os.getpid() + 1), "LISTEN_FDS": "1"}
    assert systemd.inherited_socket(environ) is None
    assert environ["LISTEN_FDS"] == "1"
    mine = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "0"}
    assert systemd.inherited_socket(mine) is None
    assert mine == {}


def test_manager_is_told_how_it_stands(activated: Activated) -> None:
    activated.spawn()
    ready = activated.wait_notified("READY=1")
    assert f"STATUS=serving {activated.store} (0 chunks)" in ready.splitlines()
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    assert activated.reload().startswith("READY=1\nSTATUS=serving")
    (reloading,) = [each for each in activated.notified if "RELOADING=1" in each]
    began_us = int(reloading.split("MONOTONIC_USEC=")[1])
    assert before <= began_us <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    assert activated.stop() == 0
    assert "STOPPING=1" in activated.wait_notified("STOPPING=1")
    assert not [each for each in activated.notified if "WATCHDOG" in each]  # nobody watches


def test_error_text_never_becomes_an_assignment_of_its_own() -> None:
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    name = f"@brain-test-{os.getpid()}"
    with channel:
        channel.bind("\0" + name[1:])
        systemd.notify("READY=1", "STATUS=bad\nMAINPID=1", environ={"NOTIFY_SOCKET": name})
        assert channel.recv(100) == b"READY=1\nSTATUS=bad MAINPID=1"


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({"WATCHDOG_USEC": "3000000"}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid())}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid() + 1)}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_watchdog_of_this_process_only(environ: dict[str, str], seconds: float | None) -> None:
    assert systemd.watchdog_timeout_s(environ) == seconds
