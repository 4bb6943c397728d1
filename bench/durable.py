"""Durable writes: 64 clients, each with one ``remember`` under way, ``synchronous=FULL``.

One process plays all clients with a selector and messages encoded beforehand; a client sends its
next memory as soon as the last one was acknowledged, which is after its commit.
"""

import os
import selectors
import time
from pathlib import Path
from typing import Any

from bench.corpus import Corpus
from bench.daemon import Daemon
from bench.figures import summarize
from bench.wire import Wire, encode

CLIENTS = 64
SECONDS = 6.0
WORDS = 25
ENCODED = 60_000
SYNC_SAMPLES = 50
ACKNOWLEDGED = bytes([0x94, 1, 1, 0xC0])  # [1, msgid 1, nil, …


def measure_durable(daemon: Daemon, corpus: Corpus) -> dict[str, Any]:
    """Give calls a second, rows a commit, latency, CPU a call."""
    requests = [
        encode("remember", text=document.text)
        for document in corpus.documents(1_000_000, 1_000_000 + ENCODED, mean_words=WORDS)
    ]
    with daemon.connect() as wire:
        before = wire.call("stats")["commits"]
        cpu, own = daemon.cpu_ns(), time.process_time()
        wall, latencies = _drive(daemon, requests)
        cpu, own = daemon.cpu_ns() - cpu, time.process_time() - own
        commits = wire.call("stats")["commits"] - before
    calls = len(latencies)
    return {
        "clients": CLIENTS,
        "words_per_memory": WORDS,
        "wall_s": round(wall, 2),
        "calls_per_s": round(calls / wall),
        "calls_per_cpu_s": round(calls / (cpu / 1e9)),
        "calls": calls,
        "commits": commits,
        "rows_per_commit": round(calls / commits, 1),
        "latency": summarize(latencies, "ms"),
        "server_cpu_us_per_call": round(cpu / calls / 1e3, 1),
        "server_cores_busy": round(cpu / 1e9 / wall, 2),
        "client_cores_busy": round(own / wall, 2),
        "fdatasync": _fdatasync(daemon.folder),
    }


def _drive(daemon: Daemon, requests: list[bytes]) -> tuple[float, list[float]]:
    """Give the wall seconds, and each call's latency in ms."""
    upcoming = iter(requests)
    latencies: list[float] = []
    sent_at: dict[Wire, float] = {}
    clock = time.perf_counter
    selector = selectors.DefaultSelector()
    wires = [daemon.connect() for _ in range(CLIENTS)]
    try:
        started = clock()
        for wire in wires:
            selector.register(wire.socket, selectors.EVENT_READ, wire)
            wire.send(next(upcoming))
            sent_at[wire] = clock()
        while sent_at:
            for key, _ in selector.select():
                wire = key.data
                answer = wire.socket.recv(65536)
                now = clock()
                if not answer.startswith(ACKNOWLEDGED):
                    raise RuntimeError(f"not acknowledged: {answer[:200]!r}")
                latencies.append((now - sent_at.pop(wire)) * 1e3)
                if now - started < SECONDS and (request := next(upcoming, None)):
                    wire.send(request)
                    sent_at[wire] = now
        return clock() - started, latencies
    finally:
        selector.close()
        for wire in wires:
            wire.socket.close()


def _fdatasync(folder: Path) -> dict[str, Any]:
    """What one commit cannot go below here: append a page and sync it."""
    times = []
    path = folder / "sync.probe"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        for _ in range(SYNC_SAMPLES):
            os.write(descriptor, bytes(4096))
            started = time.perf_counter()
            os.fdatasync(descriptor)
            times.append((time.perf_counter() - started) * 1e3)
    finally:
        os.close(descriptor)
        path.unlink()
    return summarize(times, "ms")
