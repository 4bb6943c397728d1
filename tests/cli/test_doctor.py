"""``brain doctor``: each check has its fault, its cure, and its exit code."""

import json
import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from brain_daemon import __version__
from brain_daemon.cli import doctor, exits, output
from brain_daemon.cli.main import cli
from brain_daemon.errors import Forbidden, InternalError

Stand = Any

WELL = {
    "ping": "pong",
    "hello": {"product": __version__, "protocol": 1, "schema": 1},
    "whoami": {"name": "ana", "uid": 1000, "roles": ["reader", "writer"]},
    "health": {"status": "ok", "reasons": [], "free_bytes": 1 << 40},
    "stats": {"chunks": 5, "documents": 2, "store_bytes": 1 << 20, "wal_bytes": 0, "store": "/s"},
}


def run(path: Path, *options: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Give the exit code and the checks by name."""
    command = ["--socket", os.fspath(path), "doctor", "--json", *options]
    result = CliRunner().invoke(cli, command, prog_name="brain")
    report = json.loads(result.stdout)
    assert report["ok"] == (result.exit_code == exits.OK)
    return result.exit_code, {check["name"]: check for check in report["checks"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    private = tmp_path / "run"
    private.mkdir(mode=0o700)
    return private


@pytest.fixture
def stale(folder: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(folder / "s"))
    (folder / "s").chmod(0o600)
    return folder / "s"


def test_no_daemon(folder: Path) -> None:
    code, checks = run(folder / "s")
    assert code == exits.NEGATIVE
    assert checks["socket"]["verdict"] == "fault"
    assert "brain-daemon serve" in checks["socket"]["cure"]
    needs_daemon = ("ping", "versions", "identity", "health", "store", "disk")
    assert {checks[name]["verdict"] for name in needs_daemon} == {"not run"}


@pytest.mark.parametrize(
    ("make", "detail"),
    [
        (lambda path: path.write_text("x"), "is not a socket"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: path.symlink_to("nowhere"), "is a link to nothing"),
    ],
)
def test_something_else_at_the_path(folder: Path, make: Any, detail: str) -> None:
    make(folder / "s")
    code, checks = run(folder / "s")
    assert code == exits.NEGATIVE
    assert detail in checks["socket"]["detail"]
    assert checks["socket"]["cure"]


def test_a_path_too_long_for_a_socket(tmp_path: Path) -> None:
    _, checks = run(tmp_path / ("x" * 120))
    assert "a Unix socket takes 107" in checks["socket"]["detail"]


def test_a_stale_socket(stale: Path) -> None:
    code, checks = run(stale)
    assert code == exits.NEGATIVE
    assert checks["socket"]["verdict"] == checks["permissions"]["verdict"] == "ok"
    assert checks["daemon"]["verdict"] == "fault"
    assert "stale socket" in checks["daemon"]["detail"]
    assert "brain-daemon serve" in checks["daemon"]["cure"]


@pytest.mark.parametrize(
    ("folder_mode", "socket_mode", "verdict"),
    [
        (0o700, 0o600, "ok"),
        (0o750, 0o660, "ok"),
        (0o770, 0o600, "fault"),
        (0o707, 0o600, "fault"),
        (0o1777, 0o600, "ok"),
        (0o755, 0o666, "warning"),
        (0o700, 0o666, "ok"),
    ],
)
def test_permissions(stale: Path, folder_mode: int, socket_mode: int, verdict: str) -> None:
    stale.chmod(socket_mode)
    stale.parent.chmod(folder_mode)
    check = doctor.check_permissions(stale)
    assert check.verdict == verdict
    assert f"socket {socket_mode:04o}" in check.detail
    assert (check.cure is None) == (verdict == "ok")


def test_without_a_runtime_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert doctor.check_runtime_dir(tmp_path / "s", named=False).verdict == "ok"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "no"))
    assert doctor.check_runtime_dir(tmp_path / "s", named=False).verdict == "warning"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert doctor.check_runtime_dir(tmp_path / "s", named=True).verdict == "ok"
    check = doctor.check_runtime_dir(tmp_path / "s", named=False)
    assert check.verdict == "warning"
    assert "--socket" in str(check.cure)
    (tmp_path / "s").touch()
    check = doctor.check_runtime_dir(tmp_path / "s", named=False)
    assert (check.verdict, check.cure) == ("ok", None)
    assert str(tmp_path / "s") in check.detail


def test_long_lines_hang_from_their_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_PIPED_WIDTH", 60)
    command = ["--socket", os.fspath(folder / "s"), "doctor"]
    lines = CliRunner().invoke(cli, command, prog_name="brain").stdout.splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert {line[22:30] for line in lines if line.split()[:2] == ["not", "run"]} == {"it needs"}
    assert "start the daemon" in [line[22:38] for line in lines if line.split()[:1] == ["cure"]]
    told = " ".join(line.strip() for line in lines)
    assert "it needs an answer from the daemon" in told


def test_all_is_well(stand: Stand) -> None:
    stand.answers.update(WELL)
    stand.path.chmod(0o600)
    stand.path.parent.chmod(0o700)
    code, checks = run(stand.path)
    assert code == exits.OK
    assert {n: c["verdict"] for n, c in checks.items() if c["verdict"] == "fault"} == {}
    assert f"pid {os.getpid()} of uid {os.geteuid()} listens" == checks["daemon"]["detail"]
    assert checks["identity"]["detail"] == "ana (uid 1000): reader, writer"
    assert "5 chunks of 2 documents" in checks["store"]["detail"]
    assert checks["disk"]["detail"] == "1.0 TiB free at /s"
    shown = stand.run("doctor").stdout
    assert shown.endswith("no fault found\n")


def test_deep_has_the_daemon_check_its_store(stand: Stand) -> None:
    stand.answers.update(WELL)
    stand.answers["health"] = lambda params: {"status": "ok", **params}
    assert "every page" in run(stand.path, "--deep")[1]["health"]["detail"]
    assert stand.params("health") == [{"deep": True}]


@pytest.mark.parametrize(
    ("method", "answer", "name", "verdict"),
    [
        ("ping", InternalError("stuck"), "ping", "fault"),
        ("hello", {"product": "9.9"}, "versions", "warning"),
        ("health", {"status": "degraded", "reasons": ["disk full"]}, "health", "fault"),
        ("health", {"status": "ok", "free_bytes": 1000}, "disk", "fault"),
        ("health", {"status": "ok"}, "disk", "not run"),
        ("whoami", {"name": "eve", "uid": 1, "roles": []}, "identity", "fault"),
        ("stats", Forbidden("stats needs the role operator"), "store", "not run"),
        ("stats", {"store_bytes": 1 << 20, "wal_bytes": 1 << 30}, "store", "warning"),
        ("stats", {"store_bytes": 1 << 50}, "disk", "warning"),
    ],
)
def test_each_answer_that_is_not_well(
    stand: Stand, method: str, answer: Any, name: str, verdict: str
) -> None:
    stand.answers.update({**WELL, method: answer})
    stand.path.parent.chmod(0o700)
    code, checks = run(stand.path)
    assert checks[name]["verdict"] == verdict
    assert code == (exits.NEGATIVE if verdict == "fault" else exits.OK)
    assert checks[name]["cure"] or verdict == "not run"


def test_hostile_answers_are_shown_not_obeyed(stand: Stand) -> None:
    stand.answers.update({**WELL, "health": {"status": "bad\x1b[2J", "reasons": ["[red]x"]}})
    shown = stand.run("doctor").stdout
    assert "\x1b" not in shown
    assert r"bad\x1b[2J: [red]x" in shown


def test_two_daemons_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    two = [(7, ["brain-daemon", "serve"]), (5, ["brain-daemon", "serve", "--store", "/b"])]
    monkeypatch.setattr(doctor, "_daemons", lambda: iter(two))
    check = doctor.check_processes()
    assert check.verdict == "warning"
    assert "pid 5: brain-daemon serve --store /b; pid 7" in check.detail


def test_the_socket_stays_as_it_was(stand: Stand) -> None:
    stand.answers.update(WELL)
    before = stand.path.stat()
    run(stand.path)
    after = stand.path.stat()
    assert (before.st_ino, stat.S_IMODE(before.st_mode)) == (
        after.st_ino,
        stat.S_IMODE(after.st_mode),
    )
