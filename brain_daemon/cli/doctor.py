"""``brain doctor``: named checks, each with a verdict and, where it is not well, the cure.

It is made for the moment when nothing works: the checks of the socket run without a daemon, and
those that need an answer are then reported as not run, never as passed.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import click

from brain_daemon import __version__
from brain_daemon.cli import exits
from brain_daemon.cli.command import LONG_TIMEOUT_S, command, json_option, socket_path
from brain_daemon.cli.output import count, duration, plain, print_json, safe, size
from brain_daemon.errors import BrainError, Forbidden

Verdict = Literal["ok", "warning", "fault", "not run"]
START = "start the daemon: brain-daemon serve"
TIMEOUT_S = 5.0
MAX_SOCKET_PATH_BYTES = 107
_MIN_FREE_BYTES = 64 << 20
_INDENT = 22  # of what is told, behind verdict and name
_STYLES: dict[str, str] = {"ok": "green", "warning": "yellow", "fault": "red", "not run": "dim"}


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what was looked at, what was seen, and what to do where that is not well."""

    name: str
    verdict: Verdict
    detail: str
    cure: str | None = None


@command(example="brain doctor --deep")
@click.option("--deep", is_flag=True, help="Have the daemon check every page and index, too.")
@json_option
@click.pass_context
def doctor_command(ctx: click.Context, deep: bool, as_json: bool) -> None:
    """Find out what is wrong, and say the cure.

    It works when the daemon is down, too.

    Exit code 1 when a fault was found; warnings alone leave it at 0.
    """
    named = ctx.find_root().params.get("socket") is not None
    checks = list(examine(socket_path(), named=named, deep=deep))
    well = not any(check.verdict == "fault" for check in checks)
    if as_json:
        print_json({"ok": well, "checks": [asdict(check) for check in checks]})
    else:
        _print(checks)
    if not well:
        ctx.exit(exits.NEGATIVE)


def examine(path: Path, *, named: bool, deep: bool) -> Iterator[Check]:
    """Run every check against the daemon at ``path``, in the order in which causes come.

    ``named`` tells that the path was given, not derived; with ``deep`` the daemon reads its whole
    store to check it, which takes as long as that takes.
    """
    yield check_runtime_dir(path, named=named)
    entry = check_socket(path)
    yield entry
    if entry.verdict == "ok":
        yield check_permissions(path)
        connection = check_connection(path)
        yield connection
    yield check_processes()
    if entry.verdict != "ok" or connection.verdict == "fault":
        for name in ("ping", "versions", "identity", "health", "store", "disk"):
            yield Check(name, "not run", "it needs an answer from the daemon")
        return
    yield from check_answers(path, deep=deep)


def check_runtime_dir(path: Path, *, named: bool) -> Check:
    """Look at ``XDG_RUNTIME_DIR``, on which the default socket path depends."""
    name = "runtime dir"
    folder = os.environ.get("XDG_RUNTIME_DIR")
    if named:
        return Check(name, "ok", "not needed: the socket is named")
    if not folder and path.exists():
        return Check(name, "ok", f"not set, so the socket is at {path}")
    if not folder:
        return Check(
            name,
            "warning",
            f"XDG_RUNTIME_DIR is not set; the socket is looked for at {path}",
            "log in through PAM/systemd (or `loginctl enable-linger`), or name the socket with "
            "--socket or BRAIN_SOCKET on both sides",
        )
    if not Path(folder).is_dir():
        return Check(
            name, "warning", f"XDG_RUNTIME_DIR is {folder}, which is no folder", "unset or mend it"
        )
    return Check(name, "ok", folder)


def check_socket(path: Path) -> Check:
    """Look at what stands at the socket path."""
    name = "socket"
    n_bytes = len(os.fsencode(path))
    if n_bytes > MAX_SOCKET_PATH_BYTES:
        return Check(
            name,
            "fault",
            f"the path {path} has {n_bytes} bytes; a Unix socket takes {MAX_SOCKET_PATH_BYTES}",
            "choose a shorter path with --socket, for the daemon as well",
        )
    try:
        mode = path.stat().st_mode
    except PermissionError:
        return Check(
            name,
            "fault",
            f"you may not look into {path.parent}",
            "the daemon belongs to another user: run your own, or ask for access",
        )
    except OSError as error:
        if path.is_symlink():
            return Check(name, "fault", f"{path} is a link to nothing", f"remove it; then {START}")
        detail = f"nothing at {path}" if isinstance(error, FileNotFoundError) else str(error)
        return Check(name, "fault", detail, START)
    if not stat.S_ISSOCK(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "not a socket"
        return Check(
            name, "fault", f"{path} is {kind}", "move it away, or name another path with --socket"
        )
    return Check(name, "ok", str(path))


def check_permissions(path: Path) -> Check:
    """Look at who may connect to the socket, and who might replace it."""
    name = "permissions"
    about, folder = path.stat(), path.parent.stat()
    seen = (
        f"socket {stat.S_IMODE(about.st_mode):04o} of uid {about.st_uid}, "
        f"folder {stat.S_IMODE(folder.st_mode):04o} of uid {folder.st_uid}"
    )
    others_write = folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if others_write and not folder.st_mode & stat.S_ISVTX:
        cure = f"chmod go-w {path.parent}"
        return Check(name, "fault", f"others may replace the socket: {seen}", cure)
    if folder.st_uid not in (0, os.geteuid(), about.st_uid):
        cure = "use a folder of your own for the socket"
        return Check(name, "fault", f"the folder belongs to someone else: {seen}", cure)
    if about.st_mode & stat.S_IWOTH and folder.st_mode & stat.S_IXOTH:
        cure = f"chmod o-w {path}"
        return Check(name, "warning", f"every user may connect: {seen}", cure)
    if not os.access(path, os.W_OK):
        cure = "join the socket's group (`usermod -aG GROUP USER`, then log in anew)"
        return Check(name, "fault", f"you may not connect: {seen}", cure)
    return Check(name, "ok", seen)


def check_connection(path: Path) -> Check:
    """Connect, and ask the kernel who listens."""
    name = "daemon"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(TIMEOUT_S)
        try:
            probe.connect(os.fspath(path))
            peer = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        except ConnectionRefusedError:
            detail = "stale socket: nobody listens (a daemon ended without removing it)"
            return Check(name, "fault", detail, f"{START} (it replaces a stale socket)")
        except OSError as error:
            detail = f"cannot connect: {error.strerror or error}"
            return Check(name, "fault", detail, "look into the daemon's log; restart it")
    pid, uid, _ = struct.unpack("3i", peer)
    if uid not in (os.geteuid(), path.stat().st_uid):
        detail = f"pid {pid} of uid {uid} listens, on a socket of uid {path.stat().st_uid}"
        return Check(name, "warning", detail, "make sure that you trust that user")
    return Check(name, "ok", f"pid {pid} of uid {uid} listens")


def check_processes() -> Check:
    """Count this user's daemons: a second one means a second store."""
    name = "processes"
    running = sorted(_daemons())
    shown = "; ".join(f"pid {pid}: {' '.join(words)}" for pid, words in running)
    if len(running) > 1:
        return Check(
            name,
            "warning",
            f"{len(running)} daemons run, each with a store of its own: {shown}",
            "stop those that you do not need (kill PID), and name the other's --socket to use it",
        )
    return Check(name, "ok", shown or "no daemon runs")


def _daemons() -> Iterator[tuple[int, list[str]]]:
    """List this user's processes that are ``brain-daemon serve``, as far as /proc may be read."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if folder.stat().st_uid != os.geteuid():
                continue
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
        except OSError:
            continue
        if "serve" in words and any(
            Path(word).name == "brain-daemon" or word.startswith("brain_daemon.daemon")
            for word in words[: words.index("serve")]
        ):
            yield int(folder.name), words


def check_answers(path: Path, *, deep: bool) -> Iterator[Check]:
    """Ask the daemon about itself; a question that fails leaves the others to be asked."""
    from brain_daemon.client import Client

    answers: dict[str, Mapping[str, Any] | BrainError] = {}
    started = time.perf_counter()
    try:
        with Client(path, timeout_s=TIMEOUT_S) as client:
            client.call("ping")
    except BrainError as error:
        yield Check("ping", "fault", error.message, "look into the daemon's log; restart it")
    else:
        yield Check("ping", "ok", f"answered in {(time.perf_counter() - started) * 1000:.1f} ms")
    for method in ("hello", "whoami", "health", "stats"):
        is_long = deep and method == "health"
        try:
            # One connection each: a daemon that hangs up on one question may answer the next.
            with Client(path, timeout_s=LONG_TIMEOUT_S if is_long else TIMEOUT_S) as client:
                answers[method] = client.call(method, **({"deep": True} if is_long else {}))
        except BrainError as error:
            answers[method] = error
    yield _judge("versions", answers["hello"], versions)
    yield _judge("identity", answers["whoami"], identity)
    yield _judge("health", answers["health"], health)
    yield _judge("store", answers["stats"], store)
    stats = {} if isinstance(answers["stats"], BrainError) else answers["stats"]
    yield _judge("disk", answers["health"], lambda found: disk(found, stats))


def _judge(
    name: str,
    answer: Mapping[str, Any] | BrainError,
    judge: Callable[[Mapping[str, Any]], Check],
) -> Check:
    if isinstance(answer, Forbidden):
        return Check(name, "not run", answer.message)
    if isinstance(answer, BrainError):
        return Check(name, "fault", answer.message, "look into the daemon's log; restart it")
    return judge(answer)


def versions(hello: Mapping[str, Any]) -> Check:
    """Compare the daemon's product version with that of this command."""
    product = str(hello.get("product"))
    detail = f"daemon {product}, protocol {hello.get('protocol')}, schema {hello.get('schema')}"
    if product != __version__:
        cure = "restart the daemon, so that both are the version that is installed"
        return Check("versions", "warning", f"{detail}; this command is {__version__}", cure)
    return Check("versions", "ok", detail)


def health(answer: Mapping[str, Any]) -> Check:
    """Repeat what the daemon says of itself; its reasons name their cures."""
    status = str(answer.get("status"))
    reasons = "; ".join(str(reason) for reason in answer.get("reasons") or [])
    if status != "ok":
        cure = "do as the reasons say; when the store itself is broken, restore a backup"
        return Check("health", "fault", f"{status}: {reasons or 'no reason given'}", cure)
    if answer.get("deep"):
        return Check("health", "ok", f"{status}; every page and index was checked")
    return Check("health", "ok", f"{status} (--deep checks every page and index)")


def identity(whoami: Mapping[str, Any]) -> Check:
    """See whether the daemon knows the caller and lets them do anything."""
    roles = [str(role) for role in whoami.get("roles") or []]
    detail = f"{whoami.get('name')} (uid {whoami.get('uid')}): {', '.join(roles) or 'no role'}"
    if not roles:
        return Check("identity", "fault", detail, "have the operator give you a role")
    return Check("identity", "ok", detail)


def store(stats: Mapping[str, Any]) -> Check:
    """Sum up the store; a log far larger than its file means that checkpoints fail."""
    store_bytes, wal_bytes = stats.get("store_bytes") or 0, stats.get("wal_bytes") or 0
    detail = (
        f"{plain(stats.get('chunks'))} chunks of {plain(stats.get('documents'))} documents, "
        f"{size(store_bytes)} + {size(wal_bytes)} of log"
    )
    if stats.get("uptime_s") is not None:
        detail += f", up {duration(stats['uptime_s'])}"
    if wal_bytes > max(256 << 20, store_bytes):
        cure = "a reader holds an old state: restart the daemon; then `brain compact`"
        return Check("store", "warning", f"the log has outgrown the store: {detail}", cure)
    return Check("store", "ok", detail)


def disk(answer: Mapping[str, Any], stats: Mapping[str, Any]) -> Check:
    """Look at the free space where the store lies; compacting needs as much again as it has."""
    free = answer.get("free_bytes")
    if not isinstance(free, int):
        return Check("disk", "not run", "the daemon does not say how much space is free")
    store_bytes = stats.get("store_bytes") or 0
    detail = f"{size(free)} free" + (f" at {stats['store']}" if stats.get("store") else "")
    if free < _MIN_FREE_BYTES:
        return Check("disk", "fault", detail, "free some space, or writes will be refused")
    if free < store_bytes:
        return Check("disk", "warning", detail, f"`brain compact` needs {size(store_bytes)}")
    return Check("disk", "ok", detail)


def _print(checks: list[Check]) -> None:
    from rich.text import Text

    from brain_daemon.cli.output import console

    screen = console()

    def hanging(text: str) -> str:
        lines = Text(safe(text)).wrap(screen, max(20, screen.width - _INDENT))
        return f"\n{'':{_INDENT}}".join(line.plain.rstrip() for line in lines)

    for check in checks:
        line = Text(f"{check.verdict:>8}", style=_STYLES[check.verdict])
        line.append(f"  {check.name:<12}", style="bold")
        line.append(hanging(check.detail))
        screen.print(line)
        if check.cure:
            screen.print(Text(f"{'':10}{'cure':<12}{hanging(check.cure)}", style="bold"))
    n_faults = sum(check.verdict == "fault" for check in checks)
    screen.print(count(n_faults, "fault") if n_faults else "no fault found")
