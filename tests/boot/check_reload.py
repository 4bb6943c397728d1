"""Reload takes over what is good, and refuses what is bad before it does harm."""

import os
import signal
import time
from typing import Any

import pytest

from tests.boot import machine
from tests.boot.machine import wait_until


def value_of(name: str) -> Any:
    rows = machine.brain("config")["settings"]
    return next(row["value"] for row in rows if row["name"] == name)


def test_reload() -> None:
    machine.brain("ping")
    before = machine.main_pid()
    with machine.configuration("max_text_bytes = 5000\n"):
        machine.systemctl("reload", machine.SERVICE)
        wait_until(lambda: value_of("max_text_bytes") == 5000)
        began = time.time()
        machine.CONFIGURATION.write_text("max_text_byte = 6000\n")
        machine.systemctl("reload", machine.SERVICE, check=False)
        assert "did you mean max_text_bytes" in machine.journal(began)
        assert value_of("max_text_bytes") == 5000
        os.kill(before, signal.SIGHUP)  # past the check
        wait_until(lambda: machine.show("StatusText").startswith("not reloaded"))
        assert value_of("max_text_bytes") == 5000
        assert machine.show("ActiveState") == "active"
        machine.CONFIGURATION.write_text("max_text_bytes = 7000\n")
        machine.systemctl("reload", machine.SERVICE)
        wait_until(lambda: machine.show("StatusText").startswith("serving"))
        assert value_of("max_text_bytes") == 7000
    assert machine.main_pid() == before


def test_failed_reload_fails_the_command() -> None:
    machine.brain("ping")
    with machine.configuration("nonsense = 1\n"), pytest.raises(AssertionError, match="failed"):
        machine.systemctl("reload", machine.SERVICE)


@pytest.mark.parametrize("kind", ["configuration", "store"])
def test_what_cannot_be_opened_is_answered_and_mended_by_a_reload(kind: str) -> None:
    database = machine.STATE / "brain.db"
    machine.brain("remember", "The quince was pruned.")
    machine.systemctl("stop", machine.SERVICE)
    good = database.read_bytes()
    if kind == "configuration":
        machine.CONFIGURATION.write_text("nonsense = 1\n")
    else:
        database.write_bytes(b"precious" * 1000)
    try:
        said = machine.brain("recall", "quince", check=False)
        assert ("nonsense" if kind == "configuration" else "damaged") in said
        before = machine.main_pid()
        assert machine.show("StatusText").startswith("degraded: ")
        for _ in range(20):
            assert machine.answers()
        assert (machine.main_pid(), machine.show("NRestarts")) == (before, "0")
    finally:
        machine.CONFIGURATION.unlink(missing_ok=True)
        database.write_bytes(good)
    machine.systemctl("reload", machine.SERVICE)
    wait_until(lambda: machine.show("StatusText").startswith("serving"))
    assert machine.brain("recall", "quince")["hits"]
    assert machine.main_pid() == before


def test_what_was_mended_is_found_without_being_told() -> None:
    with machine.configuration("nonsense = 1\n"):
        assert "nonsense" in machine.brain("recall", "quince", check=False)
    seconds = wait_until(lambda: machine.show("StatusText").startswith("serving"))
    print(f"\nserving again after {seconds:.0f} s")
    assert machine.show("NRestarts") == "0"
