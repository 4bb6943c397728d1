"""``brain top``: what the daemon does now, from two readings of its metrics."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from brain_daemon.cli.command import command, daemon, json_option
from brain_daemon.cli.metrics import parse
from brain_daemon.cli.output import duration, print_json, size

if TYPE_CHECKING:
    from rich.console import RenderableType

CALLS = "brain_call_duration_seconds"
LEGS = "brain_recall_leg_duration_seconds"


@dataclass(frozen=True, slots=True)
class Reading:
    """The metrics of one moment: value by name and label value ("" where there is no label).

    ``buckets`` has for each histogram and label value the cumulated counts by upper bound.
    """

    values: Mapping[tuple[str, str], float] = field(default_factory=dict)
    buckets: Mapping[tuple[str, str], Mapping[float, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Reading:
        values: dict[tuple[str, str], float] = {}
        buckets: defaultdict[tuple[str, str], dict[float, float]] = defaultdict(dict)
        for name, labels, value in parse(text):
            bound = labels.pop("le", None)
            label = next(iter(labels.values()), "")
            if bound is None:
                values[name, label] = value
            else:
                buckets[name.removesuffix("_bucket"), label][float(bound)] = value
        return cls(values, buckets)

    def get(self, name: str, label: str = "") -> float:
        return self.values.get((name, label), 0.0)

    def known(self, name: str) -> float | None:
        """Give a value that there is none of without a store."""
        return self.values.get((name, ""))

    def labels(self, name: str) -> list[str]:
        return sorted(label for known, label in self.values if known == name)


NOTHING = Reading()


@command(example="brain top --once")
@click.option("--once", is_flag=True, help="Print one reading, counted since the start, and end.")
@click.option(
    "--interval",
    type=click.FloatRange(0.1, 3600),
    default=2.0,
    show_default=True,
    help="Seconds from one reading to the next.",
)
@json_option
def top_command(once: bool, interval: float, as_json: bool) -> None:
    """Watch what the daemon does, until Ctrl-C.

    With --json it prints one reading, as --once does.
    """
    with daemon() as client:

        def read() -> Reading:
            return Reading.of(client.call("metrics")["text"])

        reading = read()
        view = summary(reading, NOTHING)
        if as_json:
            print_json(view)
            return
        from brain_daemon.cli.output import console

        screen = console()
        if once:
            screen.print(drawn(view))
            return
        from rich.live import Live

        with Live(drawn(view), console=screen, screen=screen.is_terminal) as live:
            while True:
                time.sleep(interval)
                before, reading = reading, read()
                if reading.get("brain_uptime_seconds") < before.get("brain_uptime_seconds"):
                    before = NOTHING  # another process: its counters began anew
                live.update(drawn(summary(reading, before)), refresh=True)


def summary(now: Reading, before: Reading) -> dict[str, Any]:
    """Sum up what happened between two readings; rates are per second."""
    uptime_s = now.get("brain_uptime_seconds")
    span_s = max(uptime_s - before.get("brain_uptime_seconds"), 1e-9)

    def rate(name: str, label: str = "") -> float:
        return (now.get(name, label) - before.get(name, label)) / span_s

    def timed(name: str, label: str = "") -> dict[str, float | None]:
        spread = _between(now, before, name, label)
        quantiles = {"p50_s": quantile(spread, 0.5), "p99_s": quantile(spread, 0.99)}
        return {"per_s": rate(f"{name}_count", label), **quantiles}

    return {
        "uptime_s": uptime_s,
        "span_s": span_s,
        "degraded": [
            label for label in now.labels("brain_degraded") if now.get("brain_degraded", label)
        ],
        "operations": {
            label: {
                **timed(CALLS, label),
                "failed_per_s": rate("brain_calls_failed_total", label),
            }
            for label in now.labels(f"{CALLS}_count")
        },
        "legs": {label: timed(LEGS, label) for label in now.labels(f"{LEGS}_count")},
        "decisions_per_s": _rates(now, rate, "brain_recall_decisions_total"),
        "errors_per_s": _rates(now, rate, "brain_errors_total"),
        "commits": timed("brain_commit_duration_seconds"),
        "received_bytes_per_s": rate("brain_received_bytes_total"),
        "sent_bytes_per_s": rate("brain_sent_bytes_total"),
        "cpu_share": rate("brain_cpu_seconds_total"),
        "connections": now.get("brain_connections"),
        "calls_in_flight": now.get("brain_calls_in_flight"),
        "writes_waiting": now.known("brain_writes_waiting"),
        "chunks": now.known("brain_chunks"),
        "quarantined_chunks": now.known("brain_quarantined_chunks"),
        "rss_bytes": now.get("brain_resident_memory_bytes"),
        "store_bytes": now.known("brain_store_bytes"),
        "log_bytes": now.known("brain_log_bytes"),
        "free_bytes": now.known("brain_disk_free_bytes"),
    }


def _rates(now: Reading, rate: Any, name: str) -> dict[str, float]:
    rates = {label: rate(name, label) for label in now.labels(name)}
    return {label: value for label, value in rates.items() if value}


def _between(now: Reading, before: Reading, name: str, label: str) -> dict[float, float]:
    """Give the cumulated counts of what came between, by upper bound."""
    earlier = before.buckets.get((name, label), {})
    found = now.buckets.get((name, label), {})
    return {bound: count - earlier.get(bound, 0.0) for bound, count in found.items()}


def quantile(spread: Mapping[float, float], q: float) -> float | None:
    """Give the bound up to which a share ``q`` of the values lies.

    None where there are no values, or it lies above the last bound.
    """
    bounds = sorted(spread)
    if not bounds or not spread[bounds[-1]]:
        return None
    wanted = q * spread[bounds[-1]]
    bound = next(bound for bound in bounds if spread[bound] >= wanted)
    return bound if isfinite(bound) else None


def drawn(view: Mapping[str, Any]) -> RenderableType:
    """Draw a summary for a terminal."""
    from rich.console import Group

    from brain_daemon.cli.output import pairs, table

    rates = ("decisions_per_s", "errors_per_s")
    decisions, errors = (
        ", ".join(f"{name} {rate:.2g}/s" for name, rate in view[key].items()) for key in rates
    )
    head = pairs(
        [
            ("health", f"degraded: {', '.join(view['degraded'])}" if view["degraded"] else "ok"),
            ("up", f"{duration(view['uptime_s'])}; counted over {duration(view['span_s'])}"),
            (
                "load",
                f"{view['cpu_share']:.0%} of a processor, {size(view['rss_bytes'])} of memory",
            ),
            (
                "socket",
                f"{view['connections']:.0f} connections, {view['calls_in_flight']:.0f} calls in "
                f"flight, {size(view['received_bytes_per_s'])}/s in, "
                f"{size(view['sent_bytes_per_s'])}/s out",
            ),
            ("writing", _writing(view)),
            ("store", _store(view)),
            ("recalls", decisions or "–"),
            ("errors", errors or "–"),
        ]
    )
    calls = sorted(view["operations"].items(), key=lambda item: -item[1]["per_s"])
    legs = [(f"  {leg} leg", of) for leg, of in view["legs"].items()]
    rows = [
        (
            name,
            f"{of['per_s']:.2f}",
            f"{of['failed_per_s']:.2f}" if "failed_per_s" in of else "",
            _ms(of, "p50_s"),
            _ms(of, "p99_s"),
        )
        for name, of in [*calls, *legs]
    ]
    return Group(head, table(("operation", "calls/s", "failed/s", "p50", "p99"), rows))


def _writing(view: Mapping[str, Any]) -> str:
    commits = view["commits"]
    return (
        f"{commits['per_s']:.2g} commits/s ({_ms(commits, 'p99_s')} p99), "
        f"{_number(view['writes_waiting'])} writes waiting"
    )


def _store(view: Mapping[str, Any]) -> str:
    chunks, quarantined = _number(view["chunks"]), _number(view["quarantined_chunks"])
    store, log, free = (
        "–" if view[name] is None else size(view[name])
        for name in ("store_bytes", "log_bytes", "free_bytes")
    )
    return f"{chunks} chunks, {quarantined} in quarantine, {store} + {log} of log, {free} free"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _ms(of: Mapping[str, Any], quantile: str) -> str:
    seconds = of[quantile]
    if seconds is None:
        return "above all bounds" if of["per_s"] else "–"
    return f"≤ {seconds * 1000:g} ms"
