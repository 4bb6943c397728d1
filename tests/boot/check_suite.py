"""The suite's own tests of the client, the commands and the operations, against the service."""

import json
import shutil
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.boot import machine

MODULES = (
    "tests/client",
    "tests/cli/test_live.py",
    "tests/e2e/test_messages.py",
    "tests/e2e/test_operations.py",
)
ELSEWHERE = (
    # After a kill the service is back at once; the other has a check of its own here.
    "cli/test_live.py::test_a_daemon_that_was_killed_is_told_and_doctor_knows",
    "e2e/test_operations.py::test_newer_schema_is_refused_with_a_clear_message",
)
CONTROL = "/run/brain-check.sock"
SCRATCH = Path("/opt/scratch")  # where the tests' files are; backups go there, too


class Control(socketserver.StreamRequestHandler):
    """Carries out what the tests may not do themselves."""

    service = ExitStack()

    def handle(self) -> None:
        order = json.loads(self.rfile.readline())
        answer = getattr(self, order.pop("action"))(**order)
        self.wfile.write(json.dumps(answer).encode() + b"\n")

    def empty(self, environment: dict[str, str]) -> None:
        """Stop the service, empty its store, and set its environment."""
        self.service.close()
        machine.systemctl("stop", machine.SERVICE)
        for left in machine.STATE.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        lines = [f"Environment={name}={value}\n" for name, value in environment.items()]
        text = "".join(["[Service]\n", f"ReadWritePaths={SCRATCH}\n", *lines])
        self.service.enter_context(machine.drop_in(text, restart=False))

    def start(self) -> None:
        machine.systemctl("start", machine.SERVICE)

    def stop(self) -> int:
        machine.systemctl("stop", machine.SERVICE)
        return 0 if machine.show("Result") == "success" else 1

    def pid(self) -> int:
        return machine.main_pid()


@pytest.fixture
def control() -> Iterator[str]:
    with socketserver.UnixStreamServer(CONTROL, Control) as server:
        Path(CONTROL).chmod(0o666)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield CONTROL
        server.shutdown()
        thread.join()
    Control.service.close()
    Path(CONTROL).unlink()


@pytest.mark.timeout(400)
def test_suite_passes_against_the_service(control: str) -> None:
    SCRATCH.mkdir()
    shutil.chown(SCRATCH, machine.USER, machine.USER)
    options: dict[str, Any] = machine.becoming(machine.USER)
    options["env"] |= {"BOOT_CONTROL": control, "HOME": str(SCRATCH)}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "tests.boot.served_by_unit"),
            *("-p", "no:cacheprovider", "--basetemp", str(SCRATCH / "tests"), "--durations=5"),
            *(f"--deselect=tests/{name}" for name in ELSEWHERE),
            *MODULES,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    print(f"\n{done.stdout}")
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout.splitlines()[-1]
