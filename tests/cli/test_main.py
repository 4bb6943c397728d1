"""The group: help, start-up, usage errors, the daemon out of reach."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from brain_daemon import __version__
from brain_daemon.cli import exits
from brain_daemon.cli.main import MODULES, cli
from brain_daemon.errors import Forbidden, InternalError, Overloaded

Stand = Any
TIMEOUT_S = 60


def brain(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "brain_daemon.cli.main", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, **options
    )


def test_help_has_every_command_an_example_and_the_exit_codes() -> None:
    shown = CliRunner().invoke(cli, ["--help"], prog_name="brain").output
    for name in MODULES:
        assert re.search(rf"^  {name} +\S.*\n +\$ brain {name}\b", shown, re.MULTILINE), name
    assert "..." not in shown.split("Commands", 1)[-1].split("[ARGS]...", 1)[-1]
    for code in exits.MEANINGS:
        assert re.search(rf"^  {code} +\S", shown, re.MULTILINE)


@pytest.mark.parametrize("name", MODULES)
def test_each_command_has_help_with_its_example_and_json(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"], prog_name="brain")
    assert result.exit_code == 0
    assert f"  $ brain {name}" in result.output
    assert "--json" in result.output


def test_version() -> None:
    result = CliRunner().invoke(cli, ["--version"], prog_name="brain")
    assert result.output == f"brain, version {__version__}\n"


def test_a_misspelt_command_names_the_nearest() -> None:
    result = CliRunner().invoke(cli, ["recal", "x"], prog_name="brain")
    assert result.exit_code == exits.USAGE
    assert "Did you mean 'recall'?" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["recall"],
        ["recall", "x", "--k", "many"],
        ["recall", "x", "--source", "rumour"],
        ["recall", "x", "--exlpain"],
        ["get", "seven"],
        ["ingest"],
        ["ingest", "/no/such/file.md"],
        ["remember", "x", "--relation", "a|b"],
        ["remember", "  "],
        ["forget", "notes.md", "--document"],
        ["export", "--json"],
    ],
)
def test_usage_errors_need_no_daemon(arguments: list[str]) -> None:
    result = CliRunner().invoke(cli, ["--socket", "/nonexistent/s", *arguments], prog_name="brain")
    assert result.exit_code == exits.USAGE
    assert "Error: " in result.output


def test_ping_loads_neither_drawing_nor_numbers_nor_storage(stand: Stand) -> None:
    stand.answers["ping"] = "pong"
    script = (
        "import sys\n"
        "from brain_daemon.cli.main import cli\n"
        f"cli(['--socket', {os.fspath(stand.path)!r}, 'ping'], standalone_mode=False)\n"
        "heavy = {'rich', 'numpy', 'apsw', 'tokenizers', 'asyncio', 'pathspec', 'uvloop'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    assert re.fullmatch(r"pong \(\d+\.\d\d ms\)\n\[\]\n", done.stdout), done.stdout


def test_the_socket_comes_from_the_environment(stand: Stand) -> None:
    stand.answers["ping"] = "pong"
    result = brain("ping", "--json", env={**os.environ, "BRAIN_SOCKET": os.fspath(stand.path)})
    assert json.loads(result.stdout)["answer"] == "pong"


def test_no_daemon_is_one_line_with_the_cure(tmp_path: Path) -> None:
    result = brain("--socket", os.fspath(tmp_path / "s"), "ping")
    assert result.returncode == exits.UNREACHABLE
    assert result.stdout == ""
    assert result.stderr == (
        f"brain: cannot reach the daemon at {tmp_path}/s: there is no socket; "
        "start it with `brain-daemon serve`\n"
    )


def test_a_stale_socket_is_told_apart(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(tmp_path / "s"))
    result = brain("--socket", os.fspath(tmp_path / "s"), "ping")
    assert result.returncode == exits.UNREACHABLE
    assert "nothing listens there; start it with `brain-daemon serve`\n" in result.stderr


def test_a_file_at_the_socket_path_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("x")
    result = brain("--socket", os.fspath(tmp_path / "s"), "ping")
    assert result.returncode == exits.UNREACHABLE
    assert "it is not a socket" in result.stderr


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (Forbidden("not\x1b you"), exits.FORBIDDEN, "brain: not\\x1b you\n"),
        (
            Overloaded("busy", retry_after_ms=50),
            exits.RETRY,
            "brain: busy (try again in 50 ms) (request 1-1)\n",
        ),
        (InternalError("oops"), exits.REFUSED, "brain: the daemon failed inside: oops\n"),
    ],
)
def test_an_error_of_the_daemon_is_one_line(
    stand: Stand, error: Exception, code: int, line: str
) -> None:
    stand.answers["whoami"] = error
    result = stand.run("whoami", "--json")
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", line)


def test_an_interrupt_is_one_line(stand: Stand) -> None:
    asked = threading.Event()

    def never(params: dict[str, Any]) -> asyncio.Future[None]:
        asked.set()
        return asyncio.get_running_loop().create_future()

    stand.answers["whoami"] = never
    # Where the tests run in the background of a script, SIGINT is ignored, and that is inherited.
    code = (
        "import signal; from brain_daemon.cli.main import main; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); main()"
    )
    command = [sys.executable, "-c", code, "--socket", stand.path, "whoami"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert asked.wait(TIMEOUT_S)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "brain: interrupted\n"
        assert process.wait(TIMEOUT_S) == exits.INTERRUPTED


def test_a_closed_pipe_is_no_traceback(stand: Stand) -> None:
    record = {"text": "x" * 1000}
    stand.answers["export"] = lambda params: {
        "records": [record] * 400,
        "next": None if params.get("after") == 9 else params.get("after", 0) + 1,
    }
    command = [sys.executable, "-m", "brain_daemon.cli.main", "--socket", stand.path, "export"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(TIMEOUT_S) == exits.PIPE_CLOSED


def test_a_full_output_device_is_one_line(stand: Stand) -> None:
    stand.answers["ping"] = "pong"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "brain_daemon.cli.main", "--socket", stand.path, "ping"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    assert done.returncode == exits.LOCAL_FILE
    assert done.stderr == "brain: standard output: No space left on device\n"


def test_an_output_without_unicode_gets_escapes(stand: Stand) -> None:
    stand.answers["whoami"] = {"name": "Ána › 语"}
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    shown = brain("--socket", os.fspath(stand.path), "whoami", env=environment)
    assert r"\xc1na \u203a \u8bed" in shown.stdout
    document = brain("--socket", os.fspath(stand.path), "whoami", "--json", env=environment)
    assert json.loads(document.stdout) == {"name": "Ána › 语"}
