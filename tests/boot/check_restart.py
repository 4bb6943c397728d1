"""Restarts, crashes and a service that cannot come up at all: nobody is refused."""

import json
import os
import signal
import time
from collections.abc import Callable

import pytest

from tests.boot import machine
from tests.boot.load import THREADS
from tests.boot.machine import wait_until

ROUNDS = 5
COMMITS = 20  # at least so many before the next end


def replace(end: Callable[[int], None]) -> None:
    """End the process one way or another, and wait until the next one is hard at work."""
    before = machine.main_pid()
    end(before)
    wait_until(lambda: machine.main_pid() not in (0, before) and machine.answers())
    wait_until(lambda: machine.brain("stats")["commits"] >= COMMITS)


def restart(pid: int) -> None:
    machine.systemctl("restart", machine.SERVICE)


def crash(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("end", [restart, crash])
def test_five_ends_under_load_refuse_nobody(end: Callable[[int], None]) -> None:
    machine.brain("ping")
    load = machine.spawn_module("load", str(machine.PATH))
    try:
        for _ in range(ROUNDS):
            replace(end)
    finally:
        output, _ = load.communicate()
    report = json.loads(output)
    stored = report.pop("stored")
    print(f"\n{end.__name__}: {report}, {len(stored)} stored")
    assert (report["refused"], report["error"]) == (0, 0), report
    assert report["answered"] >= ROUNDS * COMMITS, report
    assert report["worst_s"] < 10, report
    # A process that is killed cuts off the call of each caller; one that is stopped answers.
    assert report["cut off"] <= (THREADS * ROUNDS if end is crash else 0), report
    n_kept = machine.brain("stats")["documents"]
    assert len(stored) <= n_kept <= len(stored) + report["cut off"]


def test_service_that_cannot_start_keeps_its_socket_and_its_callers() -> None:
    with machine.drop_in("[Service]\nExecStart=\nExecStart=/opt/brain-daemon/bin/python -c 0/0\n"):
        began = time.time()
        load = machine.spawn_module("load", str(machine.PATH))
        wait_until(lambda: int(machine.show("NRestarts")) >= 8)
        assert machine.show("ActiveState", machine.SOCKET) == "active"
        assert machine.PATH.exists()
        assert "ZeroDivisionError" in machine.journal(began)
    machine.brain("ping")
    output, _ = load.communicate()
    report = json.loads(output)
    print(f"\n{report['answered']} answered, worst {report['worst_s']:.1f} s")
    assert (report["refused"], report["cut off"], report["error"]) == (0, 0, 0), report
    assert report["answered"] > 0
