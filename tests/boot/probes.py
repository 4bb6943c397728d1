"""What the sandbox allows and what it refuses, tried from inside. A program of its own.

Runs as the service runs and prints one JSON object: of each probe ``"ok"`` or the error. What must
work is what the daemon needs; what must be refused is what somebody who had taken the daemon over
would try next. System calls are numbered as on x86-64.
"""

import ctypes
import json
import mmap
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STATE = Path(os.environ["STATE_DIRECTORY"])
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]


def checked(result: Any) -> Any:
    if result in (-1, ctypes.c_void_p(-1).value):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def arithmetic() -> None:
    import numpy as np

    table = STATE / "probe.npy"
    np.save(table, np.ones((64, 64)))
    mapped = np.load(table, mmap_mode="r")
    assert (mapped @ mapped).sum() == 64**3
    table.unlink()


def model() -> None:
    from brain_daemon.embedding.model import StaticModel

    assert StaticModel.load(None).dim


def database() -> None:
    with sqlite3.connect(STATE / "probe.db") as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    (STATE / "probe.db").unlink()


def loop() -> None:
    import uvloop

    async def nothing() -> None:
        pass

    uvloop.run(nothing())


def thread() -> None:
    worker = threading.Thread(target=lambda: None)
    worker.start()
    worker.join()


def local_socket() -> None:
    near, far = socket.socketpair()
    near.sendall(b"x")
    assert far.recv(1) == b"x"


def private_temporary() -> None:
    file = Path("/tmp/probe")
    file.touch()
    file.unlink()


def others_temporary() -> None:
    Path("/tmp/planted").read_text()


def own_memory() -> None:
    Path("/proc/self/statm").read_text()


WORKS: tuple[Callable[[], Any], ...] = (
    arithmetic,
    model,
    database,
    loop,
    thread,
    local_socket,
    private_temporary,
    own_memory,
)

PROT_RWX = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
ANONYMOUS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
CLONE_NEWUSER = 0x10000000


def write_to(path: str) -> Callable[[], Any]:
    return lambda: Path(path).write_text("x")


def read_from(path: str) -> Callable[[], Any]:
    return lambda: list(Path(path).iterdir()) if Path(path).is_dir() else Path(path).read_bytes()


def open_socket(family: int, kind: int = socket.SOCK_STREAM) -> Callable[[], Any]:
    return lambda: socket.socket(family, kind)


def execute(*command: str) -> Callable[[], Any]:
    return lambda: subprocess.run(command, check=True)


def list_home() -> None:
    if not list(Path("/home").iterdir()):
        raise PermissionError("there is nothing to see")


def see_others() -> None:
    """Any process but our own."""
    Path("/proc/1/status").read_text()


def run_a_copy(folder: str) -> Callable[[], Any]:
    """Write a program and run it."""

    def probe() -> None:
        file = Path(folder) / "program"
        file.write_bytes(Path("/bin/true").read_bytes())
        file.chmod(0o700)
        try:
            subprocess.run([file], check=True)
        finally:
            file.unlink()

    return probe


def load_a_copy() -> None:
    """Write a library and map it as code."""
    file = STATE / "library.so"
    file.write_bytes(Path(sys.modules["_ctypes"].__file__ or "").read_bytes())
    try:
        ctypes.CDLL(str(file))
    finally:
        file.unlink()


def kill_init() -> None:
    os.kill(1, 0)


REFUSED: dict[str, Callable[[], Any]] = {
    "internet": open_socket(socket.AF_INET),
    "internet 6": open_socket(socket.AF_INET6),
    "netlink": open_socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "packets": open_socket(socket.AF_PACKET, socket.SOCK_RAW),
    "write to /usr": write_to("/usr/probe"),
    "write to /etc": write_to("/etc/brain-daemon/config.toml"),
    "write to the program": write_to("/opt/brain-daemon/bin/brain-daemon"),
    "write to /var": write_to("/var/probe"),
    "write to the socket's folder": write_to("/run/brain-daemon/probe"),
    "read /root": read_from("/root"),
    "read /home": list_home,
    "read /etc/shadow": read_from("/etc/shadow"),
    "others' /tmp": others_temporary,
    "/dev/mem": read_from("/dev/mem"),
    "/dev/kmsg": read_from("/dev/kmsg"),
    "/proc/meminfo": read_from("/proc/meminfo"),
    "/proc/kallsyms": read_from("/proc/kallsyms"),
    "other processes": see_others,
    "execute /bin/true": execute("/bin/true"),
    "execute a shell": execute("/bin/sh", "-c", ":"),
    "execute through the loader": execute("/lib64/ld-linux-x86-64.so.2", "/bin/true"),
    "run what was stored": run_a_copy(str(STATE)),
    "run what is in /tmp": run_a_copy("/tmp"),
    "run what is in /var/tmp": run_a_copy("/var/tmp"),
    "run what is in shared memory": run_a_copy("/dev/shm"),
    "map what was stored as code": load_a_copy,
    "map memory as writable code": lambda: checked(
        libc.mmap(None, 4096, PROT_RWX, ANONYMOUS, -1, 0)
    ),
    "a user namespace": lambda: checked(libc.unshare(CLONE_NEWUSER)),
    "become root": lambda: os.setuid(0),
    "a setuid bit": lambda: STATE.chmod(0o4700),
    "trace": lambda: checked(libc.ptrace(16, os.getppid(), 0, 0)),
    "signal init": kill_init,
    "set the clock": lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()),
    "set the host's name": lambda: socket.sethostname("probe"),
    "mount": lambda: checked(libc.mount(b"none", str(STATE).encode(), b"tmpfs", 0, None)),
    "chroot": lambda: os.chroot("/"),
    "real-time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    "raise priority": lambda: os.setpriority(os.PRIO_PROCESS, 0, -5),
    "keyring": lambda: checked(libc.syscall(250, 0, -3, 0)),
    "io_uring": lambda: checked(libc.syscall(425, 1, ctypes.create_string_buffer(120))),
    "bpf": lambda: checked(libc.syscall(321, 0, ctypes.create_string_buffer(120), 120)),
    "kernel modules": lambda: checked(libc.syscall(175, None, 0, b"")),
    "personality": lambda: checked(libc.personality(0x0040000)),
}


def outcome(probe: Callable[[], Any]) -> str:
    try:
        probe()
    except Exception as error:
        return repr(error)
    return "ok"


def main() -> None:
    report = {
        "works": {probe.__name__: outcome(probe) for probe in WORKS},
        "refused": {name: outcome(probe) for name, probe in REFUSED.items()},
    }
    (STATE / "probes.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main()
