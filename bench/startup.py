"""From spawning the daemon to its first answered recall."""

import time
from typing import Any

from bench.daemon import Daemon
from bench.figures import summarize

RUNS = 5


def measure_startup(daemon: Daemon, question: str) -> dict[str, Any]:
    """Start the stopped daemon several times; it is left running."""
    wall_ms, cpu_ms = [], []
    for _ in range(RUNS):
        daemon.stop()
        started = time.perf_counter()
        daemon.start()
        with daemon.connect() as wire:
            answer = wire.call("recall", q=question, abstain=False)
        wall_ms.append((time.perf_counter() - started) * 1e3)
        cpu_ms.append(daemon.cpu_ns() / 1e6)
        assert answer["hits"], "the first answer is empty"
    return {"wall": summarize(wall_ms, "ms", 1), "cpu": summarize(cpu_ms, "ms", 1)}
