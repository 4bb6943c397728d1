"""The sandbox from inside, and what systemd says of it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.boot import machine

PROBE = Path("/run/systemd/system/brain-probe.service")
REPLACED = ("Type=", "NotifyAccess=", "ExecStart=", "ExecReload=", "Restart", "WatchdogSec=")


@pytest.fixture
def report() -> Iterator[dict[str, dict[str, str]]]:
    """What the probes found, in a service that has all of the unit's restrictions."""
    unit = Path("/etc/systemd/system", machine.SERVICE).read_text()
    lines = [line for line in unit.splitlines() if not line.startswith(REPLACED)]
    lines = [line for line in lines if machine.SOCKET not in line]
    start = "[Service]\nType=oneshot\nExecStart=/opt/brain-daemon/bin/python -m tests.boot.probes"
    PROBE.write_text(
        "\n".join(lines).replace("[Service]", f"{start}\nWorkingDirectory=/opt/checks")
    )
    Path("/tmp/planted").write_text("x")
    machine.systemctl("daemon-reload")
    machine.systemctl("start", PROBE.name)
    yield json.loads((machine.STATE / "probes.json").read_text())
    PROBE.unlink()
    machine.systemctl("daemon-reload")


def test_what_is_needed_works_and_all_else_is_refused(
    report: dict[str, dict[str, str]],
) -> None:
    print(f"\n{len(report['works'])} work, {len(report['refused'])} refused")
    assert {name: said for name, said in report["works"].items() if said != "ok"} == {}
    assert [name for name, said in report["refused"].items() if said == "ok"] == []
    # Refused by the sandbox, and not because the probe is broken; the loader says so by its status.
    kinds = (
        r"(PermissionError|OSError|FileNotFoundError|ProcessLookupError|CalledProcessError\(127)"
    )
    assert [said for said in report["refused"].values() if not re.match(kinds, said)] == []


def test_exposure_of_the_running_unit() -> None:
    machine.brain("ping")
    said = machine.run(
        "systemd-analyze", "security", "--no-pager", "--threshold=5", machine.SERVICE
    )
    (exposure,) = re.findall(r"exposure level for brain-daemon.service: ([\d.]+)", said)
    print(f"\nexposure {exposure}")
    assert float(exposure) <= 0.5
