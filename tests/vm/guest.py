"""In the emulated machine: cut the power below a store, and the memory around a daemon.

Runs as root beside nothing else, and prints what it found on the console.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from brain_daemon.client import Client
from brain_daemon.errors import BrainError, NotFound

DISK, MAPPED, STORE = "/dev/vda", "/dev/dm-0", Path("/data")
SOCKET = Path("/run/brain/brain.sock")
LOG = Path("/run/daemon.log")
GROUP = Path("/sys/fs/cgroup/brain")
N_SECTORS = 256 * 2048
WHOLE = f"0 {N_SECTORS} linear {DISK} 0"
CUT = f"0 {N_SECTORS} flakey {DISK} 0 0 3600 1 drop_writes"


def run(*command: str, text: str | None = None) -> None:
    subprocess.run(command, check=True, input=text, text=True, stdout=subprocess.DEVNULL)


def table(text: str) -> None:
    """Replace the disk at once, without writing anything out first."""
    run("dmsetup", "suspend", "--nolockfs", "--noflush", "--noudevsync", "brain")
    run("dmsetup", "load", "--noudevsync", "brain", text=text)
    run("dmsetup", "resume", "--noudevsync", "brain")


def start() -> subprocess.Popen[bytes]:
    """Start a daemon in its control group and wait until it answers."""
    log = LOG.open("ab")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "brain_daemon.daemon.main", "serve"),
            *("--store", str(STORE / "store"), "--socket", str(SOCKET)),
        ],
        preexec_fn=lambda: (GROUP / "cgroup.procs").write_text(str(os.getpid())),
        stderr=log,
    )
    while process.poll() is None:
        with suppress(BrainError, OSError), Client(SOCKET, timeout_s=60) as client:
            client.ping()
            return process
        time.sleep(0.5)  # the emulated processor has enough to do
    raise SystemExit(f"the daemon ended with {process.returncode}: {LOG.read_text()}")


def write_until(prefix: str, harm: Callable[[], None], n_before: int) -> list[int]:
    """Write, do harm after so many answers, and give the chunks acknowledged before it."""
    acknowledged: list[int] = []

    def write() -> None:
        with suppress(BrainError, OSError), Client(SOCKET, timeout_s=60) as client:
            while True:
                number = len(acknowledged)
                made = client.remember(f"{prefix}: the heron stood at weir {number}")
                acknowledged.append(made["chunk_ids"][0])

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    while len(acknowledged) < n_before:
        assert thread.is_alive(), "writing ended too early"
        time.sleep(0.01)
    before = acknowledged.copy()
    harm()
    thread.join(60)
    return before


def n_found(prefix: str, acknowledged: list[int]) -> int:
    with Client(SOCKET, timeout_s=120) as client:
        health = client.call("health", deep=True)
        assert health["status"] == "ok", health["reasons"]
        found = 0
        for number, chunk_id in enumerate(acknowledged):
            with suppress(NotFound):
                text = client.get(chunk_id)["text"]
                found += text == f"{prefix}: the heron stood at weir {number}"
        return found


def power_cut() -> None:
    """Nothing that is written reaches the disk any more; then memory and caches are gone, too."""
    process = start()

    def cut() -> None:
        table(CUT)
        time.sleep(1)
        process.send_signal(signal.SIGKILL)
        process.wait()

    acknowledged = write_until("power", cut, 300)
    run("umount", str(STORE))
    Path("/proc/sys/vm/drop_caches").write_text("3")
    table(WHOLE)
    run("mount", "-t", "ext4", MAPPED, str(STORE))
    process = start()
    found = n_found("power", acknowledged)
    print(f"power cut: {len(acknowledged)} acknowledged, {found} found", flush=True)
    assert found == len(acknowledged)
    process.terminate()
    assert process.wait(60) == 0


def memory_cut() -> None:
    """The limit falls below what the daemon holds: the kernel kills it."""
    process = start()
    statistics = dict(line.split() for line in (GROUP / "memory.stat").read_text().splitlines())
    limit = int(statistics["anon"]) // 2

    def cut() -> None:
        with suppress(OSError):
            (GROUP / "memory.max").write_text(str(limit))
        process.wait(60)

    acknowledged = write_until("memory", cut, 100)
    events = dict(line.split() for line in (GROUP / "memory.events").read_text().splitlines())
    assert (process.returncode, int(events["oom_kill"])) == (-signal.SIGKILL, 1)
    (GROUP / "memory.max").write_text("max")
    process = start()
    found = n_found("memory", acknowledged)
    print(f"out of {limit >> 20} MiB: {len(acknowledged)} acknowledged, {found} found", flush=True)
    assert found == len(acknowledged)
    process.terminate()
    assert process.wait(60) == 0


def main() -> None:
    Path("/sys/fs/cgroup/cgroup.subtree_control").write_text("+memory")
    GROUP.mkdir()
    run("dmsetup", "create", "--noudevsync", "brain", text=WHOLE)
    run("mke2fs", "-q", "-t", "ext4", MAPPED)
    run("mount", "-t", "ext4", MAPPED, str(STORE))
    power_cut()
    memory_cut()
    print("all checks passed", flush=True)


if __name__ == "__main__":
    main()
