"""`metrics`: all figures of the daemon in Prometheus' text format, what is looked up among them.

docs/operations.md lists the same families, each with what it means. No text and no name of a
principal or a domain is in any of them.
"""

import resource
import time
from collections.abc import Collection
from pathlib import Path

from brain_daemon import __version__
from brain_daemon._ext.distance import simd_tier
from brain_daemon.errors import ERROR_BY_CODE
from brain_daemon.model import Principal
from brain_daemon.protocol.messages import PROTOCOL_VERSION
from brain_daemon.recall.legs import LEGS
from brain_daemon.service.exposition import CONTENT_TYPE, Family, render
from brain_daemon.service.health import CODES, faults, free, space_of
from brain_daemon.service.memory import Memory
from brain_daemon.service.metrics import DURATIONS_NS, Histogram, Metrics
from brain_daemon.service.operation import NoParams, Operation
from brain_daemon.store.schema import SCHEMA_VERSION

DECISIONS = (
    *("answered", "no_match", "leg_down", "low_confidence", "filtered_out", "empty_store"),
)
"""Of a recall, as docs/protocol.md lists them."""

_NS = 1e9


def metrics(memory: Memory, params: NoParams, principal: Principal) -> dict[str, str]:
    """Give every figure of the daemon."""
    codes = [fault.code for fault in faults(memory)]
    return exposed([*of_process(memory.metrics, codes), *_of_store(memory)])


def exposed(families: list[Family]) -> dict[str, str]:
    """Give the answer of `metrics`."""
    return {"content_type": CONTENT_TYPE, "text": render(families)}


def of_process(figures: Metrics, codes: Collection[str]) -> list[Family]:
    """Give what there is without a store, too; ``codes`` are the faults."""
    traffic = figures.traffic
    spent = resource.getrusage(resource.RUSAGE_SELF)
    calls = _histogram(
        "brain_call_duration_seconds",
        "Calls of each operation called so far, failed ones too, until their result.",
    )
    for operation, histogram in sorted(figures.durations.items()):
        calls.spread(histogram, _NS, operation=operation)
    legs = _histogram("brain_recall_leg_duration_seconds", "How long a leg of a recall took.")
    for leg in LEGS:
        legs.spread(figures.legs.get(leg) or Histogram(DURATIONS_NS), _NS, leg=leg)
    return [
        _gauge("brain_build_info", "Always 1; the labels tell versions.").set(
            1,
            version=__version__,
            protocol=str(PROTOCOL_VERSION),
            schema=str(SCHEMA_VERSION),
            simd=simd_tier(),
        ),
        _gauge("brain_uptime_seconds", "Since the process began.", _since(figures.started_at)),
        _gauge("brain_degraded", "1 where this is wrong with the daemon, by reason.").each(
            "reason", {code: code in codes for code in dict.fromkeys((*CODES, *codes))}
        ),
        calls,
        _counter("brain_calls_failed_total", "Calls that ended in an error.").each(
            "operation", dict(sorted(figures.failed.items()))
        ),
        _counter("brain_calls_slow_total", "Calls slower than slow_call_ms.", figures.slow),
        _gauge("brain_calls_in_flight", "Calls that are waited for.", figures.in_flight),
        _counter("brain_errors_total", "Errors that were answered, by code.").each(
            "code", {code: traffic.errors[code] for code in sorted(ERROR_BY_CODE)}
        ),
        legs,
        _counter("brain_recall_leg_failures_total", "Legs that failed; the others answered.").each(
            "leg", {leg: figures.legs_failed[leg] for leg in LEGS}
        ),
        _counter("brain_recall_decisions_total", "Recalls by decision.").each(
            "decision", {decision: figures.decisions[decision] for decision in DECISIONS}
        ),
        _gauge("brain_connections", "Open connections.", traffic.accepted - traffic.closed),
        _counter("brain_connections_accepted_total", "Connections made.", traffic.accepted),
        _counter(
            "brain_connections_refused_total",
            "Connections not let in, or not any more after a reload.",
            traffic.refused,
        ),
        _counter("brain_received_bytes_total", "Bytes of requests.", traffic.received_bytes),
        _counter("brain_sent_bytes_total", "Bytes of answers.", traffic.sent_bytes),
        _gauge("brain_resident_memory_bytes", "Memory of the process.", resident_bytes()),
        _counter("brain_cpu_seconds_total", "Processor time.", spent.ru_utime + spent.ru_stime),
    ]


def _of_store(memory: Memory) -> list[Family]:
    writer, snapshot, limits = memory.writer, memory.snapshot, memory.capacity
    index = snapshot.figures()
    space = space_of(memory)
    parts = {"vectors": "vector_bytes", "postings": "postings_bytes", "graph": "graph_bytes"}
    return [
        _gauge("brain_writes_waiting", "Writes that were not carried out yet.", writer.n_waiting),
        _counter("brain_commits_total", "Transactions that wrote anything.", writer.commits),
        _histogram("brain_commit_duration_seconds", "Transactions, until they are durable.").spread(
            writer.commit_ns, _NS
        ),
        _histogram("brain_commit_writes", "Writes in one commit.").spread(writer.commit_writes),
        _histogram("brain_commit_chunks", "Chunks added and removed in one commit.").spread(
            writer.commit_chunks
        ),
        _counter(
            "brain_log_moves_total",
            "Times that the write-ahead log was moved into the file.",
            writer.log_moves,
        ),
        _counter(
            "brain_log_move_failures_total",
            "Times that it could not be.",
            writer.log_move_failures,
        ),
        _gauge("brain_log_bytes", "Size of the write-ahead log.", size(log_path(memory))),
        _gauge("brain_store_bytes", "Size of the database file.", size(memory.database)),
        _gauge("brain_store_limit_bytes", "The setting max_store_bytes; 0: none.", limits.bytes),
        _gauge("brain_disk_free_bytes", "Free on the store's disk.", space and free(space)),
        _gauge("brain_chunks", "Chunks that can be recalled.", index["chunks"]),
        _gauge("brain_chunks_limit", "The setting max_chunks; 0: none.", limits.chunks),
        _gauge("brain_quarantined_chunks", "Chunks that are held back.", index["quarantined"]),
        _gauge("brain_rows", "Rows that a scan passes over, dead ones too.", index["rows"]),
        _gauge("brain_terms", "Words in the index.", index["terms"]),
        _gauge("brain_entities", "Entities in the graph.", index["entities"]),
        _gauge("brain_index_bytes", "Memory of each part of the index.").each(
            "part", {part: index[name] for part, name in parts.items()}
        ),
        _gauge("brain_generation", "Of the index; every commit makes one.", snapshot.generation),
    ]


def _gauge(name: str, help: str, value: float | None = None) -> Family:
    family = Family(name, "gauge", help)
    return family if value is None else family.set(value)


def _counter(name: str, help: str, value: float | None = None) -> Family:
    family = Family(name, "counter", help)
    return family if value is None else family.set(value)


def _histogram(name: str, help: str) -> Family:
    return Family(name, "histogram", help)


def _since(started_at: float) -> float:
    return time.monotonic() - started_at


def log_path(memory: Memory) -> Path:
    """Where SQLite's write-ahead log is."""
    return memory.database.with_name(memory.database.name + "-wal")


def size(path: Path) -> int:
    """Bytes of a file; 0 where there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def resident_bytes() -> int:
    """Memory of this process that is in RAM."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * resource.getpagesize()


OPERATIONS = (Operation("metrics", NoParams, metrics, "operator"),)
