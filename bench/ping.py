"""Round trip of a ping, against Redis on its own Unix socket, in alternating blocks.

Both clients are the same few lines: encoded bytes out, bytes in. Client and servers share one
CPU: on two, a round trip is mostly the wake-up of the other one, and which server gets how many is
the scheduler's luck (p50 from 15 to 75 µs for either, on one machine). Round trips are wall time,
so on a busy machine compare the ratios of blocks and the minima, not single figures.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.daemon import Daemon
from bench.figures import percentile, summarize
from bench.wire import encode

BLOCKS = 8
PINGS_PER_BLOCK = 2000
REDIS_PING = b"*1\r\n$4\r\nPING\r\n"


def compare_ping(daemon: Daemon, folder: Path) -> dict[str, Any]:
    """Measure both; without a redis-server, the daemon alone."""
    ours: list[float] = []
    theirs: list[float] = []
    minima: list[float] = []
    medians: list[float] = []
    cpu_us: list[float] = []
    request = encode("ping")
    with (
        _on_one_cpu(os.getpid(), daemon.pid),
        _redis(folder) as redis,
        daemon.connect().socket as to_daemon,
    ):
        to_daemon.settimeout(None)  # which would cost each call of the client a poll
        _block(to_daemon, request)
        for _ in range(BLOCKS):
            before = daemon.cpu_ns()
            a = _block(to_daemon, request)
            cpu_us.append((daemon.cpu_ns() - before) / 1e3 / len(a))
            ours += a
            if redis is not None:
                b = _block(redis, REDIS_PING)
                theirs += b
                minima.append(a[0] / b[0])
                medians.append(percentile(a, 0.5) / percentile(b, 0.5))
    result: dict[str, Any] = {
        "daemon": summarize(ours, "us", 2),
        "daemon_cpu": summarize(cpu_us, "us", 2),
    }
    if not theirs:
        return result | {"redis": "redis-server not installed"}
    return result | {
        "redis": summarize(theirs, "us", 2),
        "ratio_of_minima": summarize(minima, "x"),
        "ratio_of_p50": summarize(medians, "x"),
    }


def _block(connected: socket.socket, request: bytes) -> list[float]:
    """Give the round trips in µs, ascending."""
    send, receive, clock = connected.sendall, connected.recv, time.perf_counter_ns
    times = []
    for _ in range(PINGS_PER_BLOCK):
        started = clock()
        send(request)
        receive(4096)
        times.append(clock() - started)
    return sorted(ns / 1e3 for ns in times)


@contextmanager
def _on_one_cpu(*pids: int) -> Iterator[None]:
    """Let processes, and what they start meanwhile, share a CPU."""
    allowed = os.sched_getaffinity(0)
    try:
        for pid in pids:
            os.sched_setaffinity(pid, {min(allowed)})
        yield
    finally:
        for pid in pids:
            os.sched_setaffinity(pid, allowed)


def _try_connect(path: Path) -> socket.socket | None:
    """Connect; None while nobody listens."""
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connected.connect(os.fspath(path))
    except (FileNotFoundError, ConnectionRefusedError):
        connected.close()
        return None
    return connected


@contextmanager
def _redis(folder: Path) -> Iterator[socket.socket | None]:
    """Run a private Redis on a Unix socket without TCP and persistence; None without Redis."""
    program = shutil.which("redis-server")
    if program is None:
        yield None
        return
    path = folder / "redis.sock"
    options = ["--port", "0", "--unixsocket", os.fspath(path), "--save", "", "--appendonly", "no"]
    server = subprocess.Popen(
        [program, *options, "--dir", os.fspath(folder)], stdout=subprocess.DEVNULL
    )
    try:
        while (connected := _try_connect(path)) is None:
            if server.poll() is not None:
                raise RuntimeError("redis-server ended at once")
            time.sleep(0.01)
        with connected:
            _block(connected, REDIS_PING)
            yield connected
    finally:
        server.terminate()
        server.wait(timeout=10)
