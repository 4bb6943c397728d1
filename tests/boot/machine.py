"""The booted machine: its manager, the service on it, and programs run by other users.

For the checks that `make boot` runs as root inside a container; they change and restart the
service at will.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from brain_daemon.client import Client
from brain_daemon.errors import Forbidden

SERVICE = "brain-daemon.service"
SOCKET = "brain-daemon.socket"
PATH = Path("/run/brain-daemon/brain.sock")
STATE = Path("/var/lib/brain-daemon")
CONFIGURATION = Path("/etc/brain-daemon/config.toml")
DROP_IN = Path(f"/run/systemd/system/{SERVICE}.d/50-check.conf")
USER = "brain-daemon"


def run(*command: str, check: bool = True, **options: Any) -> str:
    """Run a command and give what it printed."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=90, **options
    )
    assert not check or done.returncode == 0, f"{command}: {done.stdout}"
    return done.stdout


def systemctl(*arguments: str, check: bool = True) -> str:
    return run("systemctl", "--no-pager", *arguments, check=check)


def show(name: str, unit: str = SERVICE) -> str:
    """Give one property of a unit."""
    return systemctl("show", "--value", "--property", name, unit).strip()


def main_pid() -> int:
    return int(show("MainPID"))


def wait_until(condition: Callable[[], Any], timeout_s: float = 60) -> float:
    """Wait for a condition and give the seconds that it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < timeout_s, f"{timeout_s} s have passed"
        time.sleep(0.02)
    return time.monotonic() - began


def becoming(user: str) -> dict[str, Any]:
    """Give the options of `subprocess` for a program of this user."""
    return {
        "user": user,
        "group": user,
        "extra_groups": run("id", "--groups", "--name", user).split(),
        "env": {"PATH": "/usr/bin", "HOME": "/", "LANG": "C.UTF-8"},
        "cwd": "/opt/checks",
    }


def brain(*arguments: str, user: str = USER, check: bool = True) -> Any:
    """Run ``brain --json`` as a user and give its answer; with ``check=False`` its output."""
    command = ("/opt/brain-daemon/bin/brain", *arguments, "--json")
    output = run(*command, check=check, **becoming(user))
    return json.loads(output) if check else output


def answers() -> bool:
    """Wait until the service answers anything at all; root itself may not use it."""
    try:
        with Client(PATH, timeout_s=60) as client:
            return client.ping() == "pong"
    except Forbidden:
        return True


def journal(since: float) -> str:
    """Give what the service logged since a moment of the wall clock."""
    run("journalctl", "--sync")
    window = ("--since", f"@{since:.6f}", "--output", "short-precise")
    return run("journalctl", "--no-pager", "--unit", SERVICE, *window)


@contextmanager
def drop_in(text: str, restart: bool = True) -> Iterator[None]:
    """Change the service for a while; restarts it before and after, if that is wanted."""
    DROP_IN.parent.mkdir(parents=True, exist_ok=True)
    DROP_IN.write_text(text)
    try:
        systemctl("daemon-reload")
        if restart:
            systemctl("restart", SERVICE, check=False)
        yield
    finally:
        DROP_IN.unlink()
        systemctl("daemon-reload")
        if restart:
            systemctl("restart", SERVICE)


@contextmanager
def configuration(text: str) -> Iterator[None]:
    """Have a configuration file for a while; whoever uses it tells the service."""
    CONFIGURATION.write_text(text)
    try:
        yield
    finally:
        CONFIGURATION.unlink(missing_ok=True)


def spawn_module(name: str, *arguments: str, user: str = USER) -> subprocess.Popen[str]:
    """Run a module of this folder as a user; its input and output are pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", f"tests.boot.{name}", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **becoming(user),
    )
