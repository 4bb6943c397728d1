"""What is wrong with a daemon that runs: one list of faults, for `health` and the metrics."""

import os
from typing import Any, NamedTuple

import apsw
import msgspec

from brain_daemon.model import Principal
from brain_daemon.service.memory import Memory
from brain_daemon.service.operation import Operation
from brain_daemon.store import capacity, failures, maintenance

LOW_SPACE_BYTES = 16 << 20  # what the write-ahead log may take before it is emptied

CODES = (
    *("writer_ended", "writes_stopped", "damaged", "store_moved", "audit_failed"),
    *("disk_full", "disk_low", "read_only", "capacity_reached", "reload_refused"),
    *("store_degraded", "schema_too_new", "model_mismatch"),  # there is no store at all
)
"""What a fault can be; docs/operations.md says what to do about each."""


class Fault(NamedTuple):
    code: str
    reason: str  # for people, with the cure


class HealthParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    deep: bool = False


def faults(memory: Memory, deep: bool = False) -> list[Fault]:
    """List what is wrong; ``deep`` also reads every page and compares the indexes."""
    of_the_file = _of_the_file(memory) if deep else []
    return [
        *_of_writing(memory),
        *of_the_file,
        *_of_the_disk(memory),
        *_of_capacity(memory),
        *_of_the_configuration(memory),
    ]


def _of_writing(memory: Memory) -> list[Fault]:
    found = []
    writer = memory.writer
    if not writer.is_alive():
        found.append(Fault("writer_ended", "the writer thread has ended: restart the daemon"))
    if writer.failure is not None:
        code = "damaged" if memory.is_damaged else "writes_stopped"
        found.append(Fault(code, f"the store takes no writes: {writer.failure}"))
    if memory.audit.failure is not None:
        found.append(Fault("audit_failed", memory.audit.failure))
    return found


def _of_the_file(memory: Memory) -> list[Fault]:
    memory.check_log()
    found = memory.check_pages() + maintenance.integrity_findings(memory.reader())
    return [Fault("damaged", finding) for finding in found]


def _of_the_disk(memory: Memory) -> list[Fault]:
    space = space_of(memory)
    if space is None or not memory.is_in_place:
        reason = (
            f"the store that is served is not at {memory.database} any more, and what is written "
            "now will not be there at the next start: put it back"
        )
        return [Fault("store_moved", reason)]
    found = []
    writer, reserve = memory.writer, memory.reserve
    free_bytes = free(space)
    if not reserve.is_held:
        found.append(
            Fault(
                "disk_full",
                "the store's disk is full, so only forgetting is accepted: free some space, and "
                "writing goes on",
            )
        )
    elif writer.refusal is not None and reserve.probe():  # it may be mended since
        code = "read_only" if isinstance(writer.refusal, apsw.ReadOnlyError) else "disk_full"
        told = failures.translate(writer.refusal)
        found.append(Fault(code, f"the last write was refused: {told}"))
    elif space.f_flag & os.ST_RDONLY:
        found.append(Fault("read_only", "the store's file system is read-only: remount it"))
    if free_bytes < LOW_SPACE_BYTES:
        reason = f"{free_bytes >> 20} MiB are left on the store's disk: free some space"
        found.append(Fault("disk_low", reason))
    return found


def space_of(memory: Memory) -> os.statvfs_result | None:
    """Ask the store's disk how full it is; None where its folder is gone."""
    try:
        return os.statvfs(memory.directory)
    except OSError:
        return None


def free(space: os.statvfs_result) -> int:
    """Give the bytes that the daemon may still use."""
    return space.f_bavail * space.f_frsize


def _of_capacity(memory: Memory) -> list[Fault]:
    limits = memory.capacity
    rows = memory.snapshot.rows
    n_chunks = rows.n_alive + rows.n_flagged
    found = []
    if 0 < limits.chunks <= n_chunks:
        found.append(("max_chunks", n_chunks, limits.chunks))
    if limits.bytes and (used := capacity.used_bytes(memory.reader())) >= limits.bytes:
        found.append(("max_store_bytes", used, limits.bytes))
    return [
        Fault(
            "capacity_reached",
            f"the store has {used} of {name} = {limit}, so nothing new is accepted: "
            f"{capacity.CURE}",
        )
        for name, used, limit in found
    ]


def _of_the_configuration(memory: Memory) -> list[Fault]:
    refused = memory.admission.reload_failure
    if refused is None:
        return []
    reason = f"the last reload was refused, so what was in force before still is: {refused}"
    return [Fault("reload_refused", reason)]


def health(memory: Memory, params: HealthParams, principal: Principal) -> dict[str, Any]:
    """Is everything in order; ``deep`` also checks every page and all three indexes."""
    space = space_of(memory)
    return report(faults(memory, params.deep), params.deep, space and free(space))


def report(found: list[Fault], deep: bool, free_bytes: int | None) -> dict[str, Any]:
    """Give the answer of `health`."""
    return {
        "status": "degraded" if found else "ok",
        "reasons": [fault.reason for fault in found],
        "codes": list(dict.fromkeys(fault.code for fault in found)),
        "deep": deep,
        "free_bytes": free_bytes,
        "pid": os.getpid(),
    }


OPERATIONS = (Operation("health", HealthParams, health, "operator", heavy=lambda _, p: p.deep),)
