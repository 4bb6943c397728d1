"""Processes of other users that call a daemon: who they are is what the kernel says."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.daemon_process import Daemon

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become other users")

# Everything is imported as root: the interpreter may stand where others cannot read.
_SCRIPT = """
import json, os, sys
import brain_daemon.client, brain_daemon.errors, encodings.idna
socket, uid, gid, groups, calls = json.load(sys.stdin)
os.setgroups(groups)
os.setgid(gid)
os.setuid(uid)
outcomes = []
with brain_daemon.client.Client(socket) as client:
    for method, params in calls:
        try:
            outcomes.append(["ok", client.call(method, **params)])
        except brain_daemon.errors.BrainError as error:
            outcomes.append([error.code, error.message])
json.dump(outcomes, sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """A user of whom processes are started."""

    uid: int
    gid: int = 5000
    groups: tuple[int, ...] = ()

    def calls(self, daemon: Daemon, *calls: tuple[str, dict[str, Any]]) -> list[tuple[str, Any]]:
        """Call a daemon from a process of this user; a result, or code and message, for each."""
        given = [str(daemon.socket), self.uid, self.gid, list(self.groups), calls]
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [(code, told) for code, told in json.loads(done.stdout)]

    def call(self, daemon: Daemon, method: str, **params: Any) -> tuple[str, Any]:
        (outcome,) = self.calls(daemon, (method, params))
        return outcome


def open_to_all(daemon: Daemon) -> None:
    """Let every user reach the socket, as a system's socket unit would."""
    daemon.socket.chmod(0o666)
    daemon.socket.parent.chmod(0o711)
    daemon.socket.parent.parent.chmod(0o711)


def write_policy(path: Path, rules: Sequence[dict[str, Any]]) -> Path:
    """Write a policy file; JSON's values are TOML's, one line a key."""
    lines = ["version = 1"]
    for rule in rules:
        lines += ["[[rule]]", *(f"{key} = {json.dumps(value)}" for key, value in rule.items())]
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o600)
    return path
