"""``brain-daemon install-units``: the files of ``systemd/``, fitted to this installation.

Here: which file goes where, and what in it depends on the environment that this process runs in.
Nothing is started and no manager is spoken to; what to do next and how to undo it is printed.
"""

import os
import re
import subprocess
import sys
import sysconfig
from importlib import resources
from pathlib import Path

import brain_daemon
from brain_daemon.errors import BadRequest, Conflict, NotFound

MARK = "# Written by `brain-daemon install-units`; change it by `systemctl edit`, not here.\n"
HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")
"""What ``ProtectHome=`` and ``PrivateTmp=`` hide from the service of the whole machine."""

STEPS_SINCE = 254  # the first systemd that knows RestartSteps=

SYSTEM_FILES = {
    "brain-daemon.socket": "/etc/systemd/system/brain-daemon.socket",
    "brain-daemon.service": "/etc/systemd/system/brain-daemon.service",
    "sysusers.conf": "/etc/sysusers.d/brain-daemon.conf",
    "tmpfiles.conf": "/etc/tmpfiles.d/brain-daemon.conf",
}
USER_FILES = {
    "user/brain-daemon.socket": "systemd/user/brain-daemon.socket",
    "user/brain-daemon.service": "systemd/user/brain-daemon.service",
}
_UNQUOTED = re.compile(r"[\w/.+~@-]+")  # what needs no quotes and holds no specifier
STEPS_FILE = "brain-daemon.service.d/10-restart-steps.conf"


def code_paths() -> tuple[Path, list[Path]]:
    """Give this installation's ``brain-daemon``, and all that is executed or mapped as code.

    Raises
    ------
    NotFound
        There is no ``brain-daemon`` beside this Python.
    """
    program = Path(sysconfig.get_path("scripts")) / "brain-daemon"
    if not program.exists():
        raise NotFound(f"there is no {program}: install the package into this environment first")
    package = Path(brain_daemon.__file__).resolve().parent
    found = [
        program,
        Path(sys.executable).resolve(),
        Path(sysconfig.get_path("stdlib")).parent,  # with libpython, where there is one
        Path(sysconfig.get_path("platlib")),
        package,
        (package / "_ext").resolve(),
    ]
    return program, list(dict.fromkeys(found))


def files(user: bool, with_steps: bool) -> dict[Path, str]:
    """Give the path and the content of each file to be written.

    Parameters
    ----------
    user : bool
        The units of this user's own manager, not those of the whole machine.
    with_steps : bool
        Also what only newer systemd versions know.

    Raises
    ------
    BadRequest
        The service of the whole machine could not see this installation.
    NotFound
        There is no installed program.
    """
    program, code = code_paths()
    if not user:
        for path in code:
            if any(path.is_relative_to(hidden) for hidden in HIDDEN):
                raise BadRequest(
                    f"{path} is hidden from a system service, as all of {', '.join(HIDDEN)} is: "
                    "install with a Python of the system into a folder such as "
                    "/opt/brain-daemon, or give --user"
                )
    for path in code:
        if not _UNQUOTED.fullmatch(str(path)):
            raise BadRequest(
                f"{path} cannot stand in a unit: install into a folder with a plain name"
            )
    places = USER_FILES if user else SYSTEM_FILES
    root = _user_directory() if user else Path("/")
    libraries = ["/usr/lib", "-/usr/lib32", "-/usr/lib64"]
    exec_paths = " ".join(dict.fromkeys([*map(str, code), *libraries]))
    written = {}
    for name, place in places.items():
        text = _packaged(name)
        text = text.replace("@EXECUTABLE@", str(program)).replace("@EXEC_PATHS@", exec_paths)
        written[root / place] = MARK + text
    if with_steps:
        service = next(path for path in written if path.suffix == ".service")
        written[service.parent / STEPS_FILE] = MARK + _packaged("backoff.conf")
    return written


def write(contents: dict[Path, str]) -> list[Path]:
    """Write each file, and give the paths of those that were not there like this.

    Raises
    ------
    Conflict
        One that this command did not write stands in the way; nothing was written.
    """
    changed = []
    for path, content in contents.items():
        if not os.path.lexists(path):
            changed.append(path)
            continue
        found = None if path.is_symlink() or not path.is_file() else path.read_bytes()
        if found is None or not found.startswith(MARK.encode()):
            raise Conflict(f"{path} was not written by this command: move it away")
        if found != content.encode():
            changed.append(path)
    for path in changed:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.write_text(contents[path], encoding="utf-8")
        path.chmod(0o644)
    return changed


def manager_version() -> int:
    """Give the version of this machine's systemd; 0 where there is none."""
    try:
        answer = subprocess.run(
            ["systemctl", "--version"], capture_output=True, text=True, check=True, timeout=10
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    number = answer.split()[1]
    return int(number) if number.isdigit() else 0


def install(user: bool, destination: Path, dry_run: bool) -> list[str]:
    """Write the units for this installation, and give what to tell about it, line by line.

    Parameters
    ----------
    user : bool
        For this user's own manager, not for the whole machine.
    destination : Path
        The folder that stands for ``/``; absolute.
    dry_run : bool
        Give the files' content and write nothing.
    """
    contents = files(user, with_steps=manager_version() >= STEPS_SINCE)
    placed = {destination / path.relative_to("/"): text for path, text in contents.items()}
    if dry_run:
        return [f"# {path}\n{text}" for path, text in placed.items()]
    changed = write(placed)
    told = [f"{'wrote    ' if path in changed else 'unchanged'} {path}" for path in placed]
    return [*told, "", *_advice(user, list(placed))]


def _advice(user: bool, written: list[Path]) -> list[str]:
    control = "systemctl --user" if user else "systemctl"
    prepare = [] if user else ["systemd-sysusers", "systemd-tmpfiles --create"]
    start = [*prepare, f"{control} daemon-reload", f"{control} enable --now brain-daemon.socket"]
    undo = [
        f"{control} disable --now brain-daemon.socket brain-daemon.service",
        "rm " + " ".join(map(str, written)),
        f"{control} daemon-reload",
    ]
    kept = "the store stays" if user else "the store, the user and the groups stay"
    return [
        *("To start:", *(f"  {line}" for line in start)),
        *(f"To undo ({kept}):", *(f"  {line}" for line in undo)),
    ]


def _packaged(name: str) -> str:
    file = resources.files("brain_daemon.daemon") / "units" / name
    return file.read_text(encoding="utf-8")


def _user_directory() -> Path:
    given = os.environ.get("XDG_CONFIG_HOME")
    return (Path(given) if given else Path.home() / ".config").absolute()
