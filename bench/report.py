"""The goals beside the figures, as a table and as one JSON file per run."""

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import brain_daemon
from brain_daemon._ext import distance

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"

Figures = dict[str, Any]


def environment(folder: Path) -> Figures:
    """What the figures depend on besides the code; nothing that tells one machine from another."""
    return {
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "revision": _git("rev-parse", "HEAD"),
        "changed_files": len(_git("status", "--porcelain", "--untracked-files=no").splitlines()),
        "product": brain_daemon.__version__,
        "python": platform.python_version(),
        "cpu": _cpu_model(),
        "simd_tier": distance.simd_tier(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "store_file_system": _file_system(folder),
        "load_average_before": [round(load, 1) for load in os.getloadavg()],
    }


def write(run: Figures) -> Path:
    """Write the run to a new file in bench/results."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    path.write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def show(run: Figures) -> None:
    """Print the tables."""
    console = Console(highlight=False)
    about = run["environment"]
    console.print(
        f"{about['cpu']}, {about['cores']} cores, SIMD {about['simd_tier']}, "
        f"Python {about['python']}, load {about['load_average_before'][0]} before the run"
    )
    table = Table("figure", "goal", "measured", "detail", title="The daemon, over its socket")
    for row in _goal_rows(run):
        table.add_row(*row)
    console.print(table)
    if kernels := run.get("kernels"):
        table = Table("kernel", "min", "median", "baseline min", "ratio (min / median)")
        table.title = "Kernels alone: thread CPU of one call"
        for name, figures in kernels.items():
            ours, baseline = figures["ours"], figures["baseline"]
            table.add_row(
                name,
                f"{ours['min']:.1f} µs",
                f"{ours['median']:.1f} µs",
                f"{baseline['min']:.1f} µs",
                f"{figures['ratio_of_minima']:.1f} x / {figures['ratio_of_medians']:.1f} x",
            )
        console.print(table)


def _goal_rows(run: Figures) -> list[tuple[str, str, str, str]]:
    rows = []
    for size, cpu_ms, ratio, rss_mb in (("10k", 0.7, 8, 120), ("100k", 2.0, 30, 250)):
        if figures := run["sizes"].get(size):
            rows += _size_rows(size, figures, cpu_ms, ratio, rss_mb)
    if figures := run.get("ping"):
        rows.append(_ping_row(figures))
    if figures := run.get("durable"):
        rows.append(_durable_row(figures))
    if figures := run["sizes"].get("10k", {}).get("startup"):
        wall, cpu = figures["wall"], figures["cpu"]
        rows.append(
            (
                "start to first answer, 10k",
                "≤ 1000 ms",
                _judge(f"{wall['median']:.0f} ms", wall["median"] <= 1000),
                f"min {wall['min']:.0f} ms; CPU {cpu['median']:.0f} ms; n {wall['n']}",
            )
        )
    return rows


def _size_rows(
    size: str, figures: Figures, cpu_ms: float, ratio: float, rss_mb: float
) -> list[tuple[str, str, str, str]]:
    recall, ingest = figures["recall"], figures["ingest"]
    cpu, rtt, sql = recall["server_cpu"], recall["round_trip"], recall["sql_cpu"]
    means, ratios = recall["server_cpu_block_means"], recall["sql_ratio"]
    busy, fresh = figures["memory_after_ingest"], figures["memory_after_restart"]
    rest = figures["memory_at_rest"]
    return [
        (
            f"CPU per recall p50, {size}",
            f"≤ {cpu_ms} ms",
            _judge(f"{cpu['p50'] / 1e3:.2f} ms", cpu["p50"] <= cpu_ms * 1e3),
            f"p95 {cpu['p95'] / 1e3:.2f} ms; mean of a block {means['min'] / 1e3:.2f} to "
            f"{means['median'] / 1e3:.2f} ms; round trip p50 {rtt['p50'] / 1e3:.2f} ms; "
            f"n {cpu['n']}",
        ),
        (
            f"SQL / daemon CPU, {size}",
            f"≥ {ratio} x",
            _judge(f"{ratios['median']:.1f} x", ratios["median"] >= ratio),
            f"min {ratios['min']:.1f} x; SQL p50 {sql['p50']:.1f} ms; same top 5: "
            f"{recall['top5_agreement_with_sql']:.0%}",
        ),
        (
            f"resident memory, {size}",
            f"≤ {rss_mb} MB",
            _judge(f"{rest['rss_mb']:.0f} MB", rest["rss_mb"] <= rss_mb),
            f"of it anonymous {rest['anonymous_mb']:.0f} MB; at the last write of the ingest "
            f"{busy['rss_mb']:.0f} MB; after a restart {fresh['rss_mb']:.0f} MB",
        ),
        (
            f"ingest, up to {size}",
            "",
            f"{ingest['chunks_per_s_wall']:,} chunks/s",
            f"{ingest['chunks_per_s_cpu']:,} per CPU second; {ingest['cpu_us_per_chunk']:.0f} µs "
            f"a chunk; file {ingest['store_mb']:.0f} MB",
        ),
    ]


def _ping_row(figures: Figures) -> tuple[str, str, str, str]:
    ours, redis = figures["daemon"], figures["redis"]
    own = f"{ours['min']:.1f} min, {ours['p50']:.1f} p50 µs"
    if isinstance(redis, str):
        return ("ping / Redis ping", "≤ 1.5 x", redis, own)
    p50, minimum = figures["ratio_of_p50"], figures["ratio_of_minima"]
    return (
        "ping / Redis ping",
        "≤ 1.5 x",
        _judge(f"{p50['median']:.2f} x", p50["median"] <= 1.5),
        f"{own}; Redis {redis['min']:.1f} min, {redis['p50']:.1f} p50 µs; "
        f"ratio of minima {minimum['median']:.2f} x",
    )


def _durable_row(figures: Figures) -> tuple[str, str, str, str]:
    latency = figures["latency"]
    return (
        "durable remember, 64 clients",
        "≥ 2,000/s",
        _judge(f"{figures['calls_per_s']:,}/s", figures["calls_per_s"] >= 2000),
        f"{figures['calls_per_cpu_s']:,} per CPU second; {figures['rows_per_commit']} rows a "
        f"commit; p50 {latency['p50']:.0f}, p95 {latency['p95']:.0f} ms; "
        f"{figures['server_cpu_us_per_call']:.0f} µs CPU a call; "
        f"fdatasync p50 {figures['fdatasync']['p50']:.1f} ms",
    )


def _judge(text: str, met: bool) -> str:
    return f"[green]{text} ✓[/green]" if met else f"[red]{text} ✗[/red]"


def _git(*arguments: str) -> str:
    command: list[str] = ["git", "-C", str(ROOT), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _file_system(folder: Path) -> str:
    """The type of the file system that holds a folder: it decides what a commit costs."""
    mounts = []
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, point, kind = line.split()[:3]
        if folder.resolve().is_relative_to(point):
            mounts.append((len(point), kind))
    return max(mounts)[1] if mounts else "unknown"
