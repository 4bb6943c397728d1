"""Operations about the daemon and its store: identity, figures, maintenance."""

import resource
import time
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec.structs import asdict

from brain_daemon.config import SETTINGS
from brain_daemon.errors import BadRequest, StoreDegraded
from brain_daemon.model import Principal
from brain_daemon.policy.rules import ANYONE
from brain_daemon.service import rebuild
from brain_daemon.service.admission import told
from brain_daemon.service.gauges import log_path, resident_bytes, size
from brain_daemon.service.memory import Memory
from brain_daemon.service.operation import NoParams, Operation, always
from brain_daemon.service.writer import ExclusiveJob
from brain_daemon.store import backup as store_backup
from brain_daemon.store import maintenance, usage
from brain_daemon.text.analyzer import ANALYZER_VERSION


class BackupParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    path: str
    overwrite: bool = False
    recipient: str | None = None


def ping(memory: Memory, params: NoParams, principal: Principal) -> str:
    return "pong"


def whoami(memory: Memory, params: NoParams, principal: Principal) -> dict[str, Any]:
    """Who the kernel says the caller is, and what that allows."""
    return {
        "name": principal.name,
        "uid": principal.uid,
        "gid": principal.gid,
        "pid": principal.pid,
        "roles": sorted(principal.roles),
        "domains": list(principal.domains),
        "scopes": list(principal.scopes),
        "rule": principal.rule,
        "quota": asdict(principal.quota),
        "usage": {
            "connections": memory.admission.connections(principal),
            "bytes": usage.stored_bytes(memory.reader(), principal.name),
        },
    }


def reload_policy(memory: Memory, params: NoParams, principal: Principal) -> dict[str, Any]:
    """Read the policy file again; a bad one is an error, and the old policy stays in force."""
    return told(memory.admission.reload(principal))


def stats(memory: Memory, params: NoParams, principal: Principal) -> dict[str, Any]:
    """Counts and sizes; no content."""
    snapshot = memory.snapshot
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return {
        **maintenance.counts(memory.reader()),
        **maintenance.documents_by(memory.reader()),
        "index": snapshot.figures(),
        "generation": snapshot.generation,
        "commits": memory.writer.commits,
        "store": str(memory.directory),
        "store_bytes": size(memory.database),
        "wal_bytes": size(log_path(memory)),
        "rss_bytes": resident_bytes(),
        "cpu_s": spent.ru_utime + spent.ru_stime,
        "uptime_s": time.monotonic() - memory.metrics.started_at,
        "model": {
            "name": memory.model.name,
            "dim": memory.model.dim,
            "fingerprint": memory.model.fingerprint,
        },
        "analyzer": {"version": ANALYZER_VERSION, "language": memory.settings["language"]},
    }


def settings(memory: Memory, params: NoParams, principal: Principal) -> dict[str, Any]:
    """Each setting's effective value and where it came from."""
    return {
        "settings": [
            {
                "name": setting.name,
                "value": memory.settings[setting.name],
                "default": setting.default,
                "source": memory.settings.sources[setting.name],
                "help": setting.help,
            }
            for setting in SETTINGS
        ]
    }


def reindex(memory: Memory, params: NoParams, principal: Principal) -> ExclusiveJob:
    """Derive terms, vectors and the resident index anew from the stored texts."""

    def run(connection: apsw.Connection) -> dict[str, Any]:
        reader = memory.reader()
        rebuild.replace_vectors(connection, reader, memory.model)
        count = rebuild.replace_terms(connection, reader, memory.analyzer)
        memory.reload(connection)
        return {"chunks": count, "generation": memory.snapshot.generation}

    return ExclusiveJob(run)


def compact(memory: Memory, params: NoParams, principal: Principal) -> ExclusiveJob:
    """Give freed space back and overwrite what was forgotten, in the file and the WAL."""

    def run(connection: apsw.Connection) -> dict[str, Any]:
        before = size(memory.database) + size(log_path(memory))
        maintenance.compact(connection)
        after = size(memory.database) + size(log_path(memory))
        return {"before_bytes": before, "after_bytes": after}

    return ExclusiveJob(run)


def backup(memory: Memory, params: BackupParams, principal: Principal) -> dict[str, Any]:
    """Copy the store while it is in use, then open and check the copy."""
    target = Path(params.path)
    if not target.is_absolute() or "\0" in params.path:
        raise BadRequest(f"path is {params.path!r}; give an absolute path", field="path")
    if not memory.check_log():  # the copy would give what it holds new checksums
        raise StoreDegraded(
            "the write-ahead log is damaged, so a copy would be, too: keep the older backups"
        )
    return store_backup.backup(
        memory.reader(), target, overwrite=params.overwrite, recipient=params.recipient
    )


OPERATIONS = (
    Operation("ping", NoParams, ping, ANYONE),
    Operation("whoami", NoParams, whoami, ANYONE),
    Operation("policy.reload", NoParams, reload_policy, "admin", writes=True),
    Operation("stats", NoParams, stats, "operator", heavy=always),  # counts whole tables
    Operation("config", NoParams, settings, "operator"),
    Operation("reindex", NoParams, reindex, "admin", writes=True, audited=True),
    Operation("compact", NoParams, compact, "operator", writes=True, audited=True),
    Operation("backup", BackupParams, backup, "operator", writes=True, audited=True, heavy=always),
)
