"""A process that hangs is ended and replaced within the watchdog's time and two seconds."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.boot import machine
from tests.boot.machine import wait_until

WATCHDOG_S = 3
# What else the machine does must not count. (Nice= would not do: it weighs within a session only.)
FIRST = "CPUSchedulingPolicy=rr\nCPUSchedulingPriority=1\n"
BLOCKING = """
import signal, time
signal.signal(signal.SIGUSR1, lambda *_: time.sleep(3600))
"""


@pytest.mark.parametrize(
    ("kind", "number"), [("stopped", signal.SIGSTOP), ("blocked", signal.SIGUSR1)]
)
def test_hang_heals(kind: str, number: int) -> None:
    folder = Path("/opt/blocking")  # makes SIGUSR1 block the thread of the event loop
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(BLOCKING)
    text = f"[Service]\nWatchdogSec={WATCHDOG_S}\nEnvironment=PYTHONPATH={folder}\n{FIRST}"
    with machine.drop_in(text):
        assert machine.brain("remember", "The quince was pruned.")["created"]
        before = machine.main_pid()

        def is_replaced() -> bool:
            return machine.main_pid() not in (0, before)

        began = time.time()
        os.kill(before, number)
        # Whoever calls now waits until a process serves. What was stopped goes on before it ends,
        # since the watchdog's signal may go to any of its threads: an answer alone shows nothing.
        seconds = wait_until(lambda: machine.answers() and is_replaced() and machine.answers())
        print(f"\n{kind}: recovered after {seconds:.1f} s")
        said = machine.journal(began)
        assert seconds <= WATCHDOG_S + 2, said
        assert machine.brain("recall", "quince")["hits"]
        assert "Watchdog timeout" in said
        if kind == "blocked":
            assert "sitecustomize.py" in said  # where it hung


def test_busy_and_idle_daemons_are_left_alone() -> None:
    with machine.drop_in(f"[Service]\nWatchdogSec={WATCHDOG_S}\n"):
        machine.brain("ping")
        before = machine.main_pid()
        load = machine.spawn_module("load", str(machine.PATH))
        began = time.monotonic()
        wait_until(lambda: time.monotonic() - began > 2 * WATCHDOG_S)
        load.communicate()
        assert machine.main_pid() == before
        assert machine.show("NRestarts") == "0"
