"""The units: whole, sound by systemd's own judgement, and easily undone."""

import configparser
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from brain_daemon import paths
from brain_daemon.config import SETTINGS
from brain_daemon.daemon import systemd, units
from brain_daemon.errors import BadRequest, Conflict, NotFound
from tests.daemon_process import ROOT

SYSTEM = ["brain-daemon.socket", "brain-daemon.service"]
needs_analyzer = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for /, with a program that the system's service could see."""
    program = tmp_path / "opt" / "brain-daemon" / "bin" / "brain-daemon"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    seen = Path("/opt/brain-daemon/bin/brain-daemon")
    monkeypatch.setattr(units, "code_paths", lambda: (seen, [seen, Path("/usr/bin/python3.11")]))
    return tmp_path


def values(path: Path) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(strict=False, delimiters="=")
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(path)
    return {name: dict(section) for name, section in parser.items()}


def test_each_file_goes_to_its_place(installed: Path) -> None:
    told = units.install(False, installed, dry_run=False)
    written = {str(path)[len(str(installed)) :] for path in installed.rglob("*.*")}
    assert written >= set(units.SYSTEM_FILES.values())
    assert {str(installed) + place for place in units.SYSTEM_FILES.values()} <= {
        line.split()[-1] for line in told if line.startswith("wrote")
    }
    (removal,) = [line for line in told if line.strip().startswith("rm ")]
    for line in removal, "rm -r " + str(installed / "opt"):
        subprocess.run(line, shell=True, check=True)
    assert not [path for path in installed.rglob("*") if path.is_file()]


def test_written_again_nothing_changes_and_a_newer_version_replaces(installed: Path) -> None:
    units.install(False, installed, dry_run=False)
    again = units.install(False, installed, dry_run=False)
    assert not [line for line in again if line.startswith("wrote")]
    service = installed / "etc/systemd/system/brain-daemon.service"
    current = service.read_text()
    service.write_text(current.replace("WatchdogSec=30s", "WatchdogSec=20s"))
    (line,) = [x for x in units.install(False, installed, dry_run=False) if x.startswith("wrote")]
    assert line.endswith("brain-daemon.service")
    assert service.read_text() == current


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_what_others_put_there_is_left_and_nothing_is_written(installed: Path, kind: str) -> None:
    place = installed / "etc/tmpfiles.d/brain-daemon.conf"
    place.parent.mkdir(parents=True)
    if kind == "file":
        place.write_text("d /precious\n")
    elif kind == "link":
        place.symlink_to(installed / "elsewhere")
    else:
        place.mkdir()
    with pytest.raises(Conflict, match=r"tmpfiles\.d/brain-daemon\.conf"):
        units.install(False, installed, dry_run=False)
    assert not (installed / "etc/systemd").exists()
    assert not (installed / "elsewhere").exists()


def test_dry_run_shows_all_and_writes_nothing(installed: Path) -> None:
    shown = "\n".join(units.install(False, installed, dry_run=True))
    assert "ExecStart=/opt/brain-daemon/bin/brain-daemon serve\n" in shown
    assert not (installed / "etc").exists()


def test_nothing_is_left_to_fill_in(installed: Path) -> None:
    for user in (False, True):
        for path, text in units.files(user, with_steps=True).items():
            assert "@EXEC" not in text, path
            assert text.startswith(units.MARK)


def test_restart_steps_only_where_they_are_known(installed: Path) -> None:
    steps = [path for path in units.files(False, with_steps=True) if "steps" in path.name]
    assert [str(path) for path in steps] == [
        "/etc/systemd/system/brain-daemon.service.d/10-restart-steps.conf"
    ]
    assert not [path for path in units.files(False, with_steps=False) if "steps" in path.name]


@pytest.mark.parametrize("folder", units.HIDDEN)
def test_installation_that_the_sandbox_hides_is_refused(
    monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    program = Path(folder) / "somebody/bin/brain-daemon"
    monkeypatch.setattr(units, "code_paths", lambda: (program, [program]))
    with pytest.raises(BadRequest, match="--user"):
        units.files(False, with_steps=False)
    assert units.files(True, with_steps=False)


@pytest.mark.parametrize("folder", ["/opt/two words", "/opt/100%", "/opt/$x", "/opt/a;b"])
def test_path_that_a_unit_would_read_otherwise_is_refused(
    monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    program = Path(folder) / "brain-daemon"
    monkeypatch.setattr(units, "code_paths", lambda: (program, [program]))
    with pytest.raises(BadRequest, match="plain name"):
        units.files(False, with_steps=False)


def test_all_code_of_this_process_is_named(tmp_path: Path) -> None:
    """Whatever file this interpreter has mapped as code may be mapped by the service."""
    script = (
        "import brain_daemon.daemon.main; from brain_daemon.daemon import units; "
        "units.sysconfig.get_path = lambda name, get=units.sysconfig.get_path: "
        "(__import__('sys').argv[1] if name == 'scripts' else get(name)); "
        "print(*units.code_paths()[1]); print(open('/proc/self/maps').read())"
    )
    (tmp_path / "brain-daemon").write_text("")
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True
    )
    first, *lines = done.stdout.splitlines()
    allowed = [*first.split(), "/usr/lib", "/usr/lib64"]
    mapped = {line.split()[5] for line in lines if " r-xp " in line and "/" in line}
    assert len(mapped) > 20
    for file in mapped:
        assert any(Path(file).is_relative_to(path) for path in allowed), file


def test_environment_without_the_program_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(units.sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(NotFound, match="install the package"):
        units.code_paths()


def test_user_units_go_to_the_users_own_folder(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/ana/.config")
    told = units.install(True, installed, dry_run=False)
    folder = installed / "home/ana/.config/systemd/user"
    assert {path.name for path in folder.iterdir() if path.is_file()} == set(SYSTEM)
    assert "  systemctl --user enable --now brain-daemon.socket" in told


def test_command_prints_what_it_did_and_how_to_undo_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "brain_daemon.daemon.main"),
            *("install-units", "--user", "--destdir", str(tmp_path)),
        ],
        env={**os.environ, "XDG_CONFIG_HOME": "/etc/xdg"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert f"wrote     {tmp_path}/etc/xdg/systemd/user/brain-daemon.service" in done.stdout
    assert "To undo (the store stays):" in done.stdout


@pytest.mark.parametrize("user", [False, True])
def test_units_agree_with_the_program(installed: Path, user: bool) -> None:
    units.install(user, installed, dry_run=False)
    (socket_unit,) = installed.rglob("brain-daemon.socket")
    sockets = values(socket_unit)["Socket"]
    assert sockets["FileDescriptorName"] == systemd.SOCKET_NAME
    if user:
        assert sockets["ListenStream"] == f"%t/{paths.NAME}/{paths.SOCKET_NAME}"
    else:
        assert sockets["ListenStream"] == str(paths.SYSTEM_SOCKET)
    for settings_line in socket_unit.with_suffix(".service").read_text().splitlines():
        if settings_line.startswith("Environment="):
            assert settings_line.split("=")[1] in {s.variable for s in SETTINGS}


def test_callers_keep_their_identity_and_a_crash_loop_keeps_the_socket(installed: Path) -> None:
    """What `make boot` shows to matter; here so that no edit loses it unseen."""
    service = values(ROOT / "systemd" / "brain-daemon.service")
    assert service["Service"]["PrivateUsers"] == "no"
    for user in (False, True):
        folder = ROOT / "systemd" / ("user" if user else ".")
        service = values(folder / "brain-daemon.service")
        assert service["Unit"]["StartLimitIntervalSec"] == "0"
        assert service["Service"]["Restart"] == "always"
        assert "RestartPreventExitStatus" not in service["Service"]
        assert "RuntimeDirectory" not in service["Service"]  # it would go with the service
        assert values(folder / "brain-daemon.socket")["Socket"]["TriggerLimitIntervalSec"] == "0"


@needs_analyzer
def test_systemd_finds_nothing_wrong(installed: Path) -> None:
    units.install(False, installed, dry_run=False)
    folder = installed / "etc/systemd/system"
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(folder / name) for name in SYSTEM)],
        capture_output=True,
        text=True,
    )
    # The program itself is not at the path that the unit names.
    complaints = [line for line in done.stderr.splitlines() if "brain-daemon." in line]
    assert not [line for line in complaints if "is not executable" not in line], done.stderr


@needs_analyzer
def test_exposure_is_at_most_half_a_point(installed: Path) -> None:
    units.install(False, installed, dry_run=False)
    done = subprocess.run(
        [
            *("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=5"),
            str(installed / "etc/systemd/system/brain-daemon.service"),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "exposure level for brain-daemon.service: 0." in done.stdout
