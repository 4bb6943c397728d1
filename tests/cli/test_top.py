"""``brain top``: rates and quantiles of what came between two readings, and the live view."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from brain_daemon.cli.top import NOTHING, Reading, quantile, summary
from brain_daemon.service.exposition import Family, render
from brain_daemon.service.metrics import DURATIONS_NS, Histogram
from tests.daemon_process import Daemon

Stand = Any


def reading(uptime_s: float, **counts: int) -> str:
    """What a daemon would say that has made so many calls: quick ones, slow ones, too slow ones."""
    histogram = Histogram(DURATIONS_NS)
    for name, nanoseconds in (("quick", 900_000), ("slow", 90_000_000), ("endless", 20 * 10**9)):
        for _ in range(counts.get(name, 0)):
            histogram.observe(nanoseconds)
    return render(
        [
            Family("brain_uptime_seconds", "gauge", "Up.").set(uptime_s),
            Family("brain_degraded", "gauge", "Bad.").each(
                "reason", {"disk_low": counts.get("degraded", 0), "disk_full": 0}
            ),
            Family("brain_call_duration_seconds", "histogram", "Calls.").spread(
                histogram, 1e9, operation="recall"
            ),
            Family("brain_errors_total", "counter", "Errors.").each(
                "code", {"not_found": counts.get("errors", 0), "internal": 0}
            ),
            Family("brain_chunks", "gauge", "Chunks.").set(12345),
        ]
    )


@pytest.mark.parametrize(
    ("counts", "q", "expected"),
    [
        ({}, 0.5, None),
        ({1.0: 0, 2.0: 0, float("inf"): 0}, 0.5, None),
        ({1.0: 5, 2.0: 10, float("inf"): 10}, 0.5, 1.0),
        ({1.0: 4, 2.0: 10, float("inf"): 10}, 0.5, 2.0),
        ({1.0: 99, 2.0: 99, float("inf"): 100}, 0.99, 1.0),
        ({1.0: 98, 2.0: 98, float("inf"): 100}, 0.99, None),
    ],
)
def test_quantiles(counts: dict[float, float], q: float, expected: float | None) -> None:
    assert quantile(counts, q) == expected


def test_rates_and_quantiles_are_of_what_came_between() -> None:
    before = Reading.of(reading(100, quick=1000, errors=5))
    now = Reading.of(reading(110, quick=1000, slow=20, errors=10, degraded=1))
    view = summary(now, before)
    assert view["operations"]["recall"] == {
        "per_s": 2.0,
        "p50_s": 0.1,
        "p99_s": 0.1,
        "failed_per_s": 0.0,
    }
    assert view["errors_per_s"] == {"not_found": 0.5}
    assert (view["degraded"], view["chunks"], view["span_s"]) == (["disk_low"], 12345, 10)
    since_start = summary(now, NOTHING)
    assert since_start["operations"]["recall"]["p50_s"] == 0.001
    assert since_start["span_s"] == 110


def test_one_reading_as_text_and_as_json(stand: Stand) -> None:
    stand.answers["metrics"] = {"text": reading(60, quick=50, endless=10, errors=6)}
    shown = stand.run("top", "--once").stdout
    assert re.search(r"recall +1\.00 +0\.00 +≤ 1 ms +above all bounds", shown)
    assert re.search(r"up +1 min 0 s; counted over 1 min 0 s", shown)
    assert "not_found 0.1/s" in shown
    assert re.search(r"health +ok", shown)
    assert "12,345 chunks" in shown
    view = json.loads(stand.run("top", "--json").stdout)
    assert view["operations"]["recall"]["p99_s"] is None
    assert stand.params("metrics") == [{}, {}]


def test_without_a_store_no_figures_of_one_are_made_up(stand: Stand) -> None:
    stand.answers["metrics"] = {"text": "brain_uptime_seconds 60\n"}
    shown = stand.run("top", "--once").stdout
    assert re.search(r"store +– chunks, – in quarantine, – \+ – of log, – free", shown)
    assert "– writes waiting" in shown
    view = json.loads(stand.run("top", "--json").stdout)
    assert (view["chunks"], view["free_bytes"], view["writes_waiting"]) == (None, None, None)


def test_it_is_drawn_for_a_daemon_of_its_own(daemon: Daemon) -> None:
    with daemon.client() as client:
        client.remember("the boiler needs bleeding")
        client.recall("boiler")
    shown = daemon.cli("top", "--once").stdout
    for words in ("recall ", "vector leg", "1 chunks", "answered", "commits/s"):
        assert words in shown
    degraded = daemon.cli("top", "--json").stdout
    assert json.loads(degraded)["degraded"] == []


def test_the_live_view_goes_on_until_it_is_interrupted(daemon: Daemon) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "brain_daemon.cli.main", "--socket", str(daemon.socket)]
    process = subprocess.Popen(
        [*command, "top", "--interval", "0.1"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "50"},
        # A suite that was started in the background inherits an interrupt that is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(slave)
    shown = ""
    deadline = time.monotonic() + 60

    def read_until(words: str) -> None:
        nonlocal shown
        while words not in shown:
            assert time.monotonic() < deadline, shown
            if select.select([master], [], [], 1)[0]:
                shown += os.read(master, 65536).decode(errors="replace")

    try:
        read_until("0 chunks")
        with daemon.client() as client:
            client.remember("the boiler needs bleeding")
            shown = ""
            read_until("1 chunks")
            assert "remember" in shown
        process.send_signal(signal.SIGINT)
        while select.select([master], [], [], 30)[0]:
            try:
                if not os.read(master, 65536):
                    break
            except OSError:  # the other end is closed
                break
        assert process.wait(timeout=30) == 130
    finally:
        process.kill()
        process.wait()
        os.close(master)
