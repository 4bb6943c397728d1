"""The units of a user's own manager, in a session that lingers: as the service, for one user."""

import json
import os
import pwd
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.boot import machine

USER = "bob"
PROGRAMS = "/opt/brain-daemon/bin"


def as_user(*command: str, check: bool = True) -> str:
    options = machine.becoming(USER)
    entry = pwd.getpwnam(USER)
    runtime = f"/run/user/{entry.pw_uid}"
    options["env"] |= {"HOME": entry.pw_dir, "XDG_RUNTIME_DIR": runtime}
    return machine.run(*command, check=check, **options)


def manager(*arguments: str, check: bool = True) -> str:
    return as_user("systemctl", "--user", "--no-pager", *arguments, check=check)


def show(name: str, unit: str = machine.SERVICE) -> str:
    return manager("show", "--value", "--property", name, unit).strip()


def brain(*arguments: str) -> Any:
    return json.loads(as_user(f"{PROGRAMS}/brain", *arguments, "--json"))


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[None]:
    """A manager of the user's, as after a login, and the units as the command says."""
    home = Path(pwd.getpwnam(USER).pw_dir)
    machine.run("loginctl", "enable-linger", USER)
    machine.wait_until(lambda: manager("is-system-running", check=False).strip() == "running")
    said = as_user(f"{PROGRAMS}/brain-daemon", "install-units", "--user")
    as_user("bash", "-ec", said.split("To start:")[1].split("To undo")[0])
    yield
    as_user("bash", "-ec", "\n".join(said.split("To undo")[1].splitlines()[1:]))
    assert show("LoadState") == show("LoadState", machine.SOCKET) == "not-found"
    assert not list((home / ".config").rglob("*brain-daemon*.*"))
    machine.run("loginctl", "disable-linger", USER)


def test_first_call_starts_it_for_its_user_alone() -> None:
    manager("stop", machine.SERVICE)
    assert show("ActiveState", machine.SOCKET) == "active"
    assert brain("remember", "The quince was pruned in March.")["created"]
    assert show("ActiveState") == "active"
    assert brain("recall", "quince")["hits"]
    entry = pwd.getpwnam(USER)
    status = Path("/proc", show("MainPID"), "status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    assert set(fields["Uid"].split()) == {str(entry.pw_uid)}
    assert (fields["NoNewPrivs"].strip(), fields["Seccomp"].strip()) == ("1", "2")
    socket = f"/run/user/{entry.pw_uid}/brain-daemon/brain.sock"
    refused = machine.brain("--socket", socket, "ping", user="alice", check=False)
    assert "you may not connect" in refused


def test_restarts_and_kills_refuse_nobody_and_lose_nothing() -> None:
    brain("remember", "The medlar was grafted.")
    for turn in range(4):
        before = show("MainPID")
        if turn % 2:
            manager("restart", machine.SERVICE)
        else:
            os.kill(int(before), signal.SIGKILL)
        assert brain("recall", "medlar")["hits"]
        assert show("MainPID") not in ("0", before)


def test_reload_takes_over_what_is_good_and_nothing_of_what_is_bad() -> None:
    brain("ping")
    process = show("MainPID")
    folder = Path(pwd.getpwnam(USER).pw_dir) / ".config" / "brain-daemon"
    as_user("mkdir", "-p", str(folder))
    file = folder / "config.toml"
    for text, is_good in (("slow_call_ms = 77\n", True), ("slow_call_msx = 78\n", False)):
        file.write_text(text)
        said = manager("reload", machine.SERVICE, check=False)
        assert ("failed" in said) != is_good
        values = {row["name"]: row["value"] for row in brain("config")["settings"]}
        assert values["slow_call_ms"] == 77
    file.unlink()
    manager("reload", machine.SERVICE)
    assert show("MainPID") == process
