"""Health: whatever is wrong has a reason with its cure and a code, and goes when it is mended."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace

from brain_daemon import config
from brain_daemon.errors import BadRequest, BrainError
from brain_daemon.policy.rules import Policy
from brain_daemon.service import health
from tests.daemon_process import ROOT
from tests.protocol.serving import wait_until
from tests.service.test_metrics import sample, samples
from tests.service.world import ADMIN, ALICE, World

OPERATOR = replace(ADMIN, roles=frozenset({"operator"}))


def configured(world: World, **settings: Any) -> None:
    values = {"store": str(world.memory.directory), **settings}
    world.memory.settings = config.load(values, {})


def refuse_reload(world: World) -> Callable[[], Any]:
    admission = world.memory.admission

    def bad() -> Policy:
        raise BadRequest("rule 3 is no rule")

    with pytest.raises(BrainError):
        admission.reload(load=bad)
    return lambda: admission.reload(load=Policy.of_own_user)


def end_the_writer(world: World) -> None:
    world.memory.writer.stop()
    wait_until(lambda: not world.memory.writer.is_alive())


def fail_a_commit(world: World) -> None:
    world.memory.writer._abandon(apsw.IOError("disk I/O error"))


def damage(world: World) -> None:
    world.memory.note_damage("page 7 is unlike its checksum: restore a backup")


def lose_the_reserve(world: World) -> Callable[[], Any]:
    world.memory.reserve.release()
    return world.memory.reserve.hold


def let_the_audit_fail(world: World) -> None:
    world.memory.audit.failure = "the audit log cannot be written: mend the disk, restart"


def move_the_folder(world: World) -> Callable[[], Any]:
    folder = world.memory.directory
    away = folder.rename(folder.with_name("away"))
    return lambda: away.rename(folder)


def replace_the_file(world: World) -> Callable[[], Any]:
    database = world.memory.database
    away = database.rename(database.with_name("away.db"))
    database.write_bytes(away.read_bytes())
    return lambda: away.rename(database)


def fill_chunks(world: World) -> Callable[[], Any]:
    configured(world, max_chunks=1)
    return lambda: configured(world, max_chunks=2)


def fill_bytes(world: World) -> Callable[[], Any]:
    configured(world, max_store_bytes=1)
    return lambda: configured(world)


FAULTS: dict[str, tuple[str, Callable[..., Any], str]] = {
    "reload": ("reload_refused", refuse_reload, "rule 3 is no rule"),
    "writer": ("writer_ended", end_the_writer, "restart the daemon"),
    "sync": ("writes_stopped", fail_a_commit, "disk I/O error; restart"),
    "damage": ("damaged", damage, "restore a backup"),
    "reserve": ("disk_full", lose_the_reserve, "free some space"),
    "audit": ("audit_failed", let_the_audit_fail, "mend the disk"),
    "folder": ("store_moved", move_the_folder, "put it back"),
    "file": ("store_moved", replace_the_file, "put it back"),
    "chunks": ("capacity_reached", fill_chunks, "1 of max_chunks = 1.*raise it"),
    "bytes": ("capacity_reached", fill_bytes, "of max_store_bytes = 1,.*forget something"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_has_its_reason_and_its_metric(tmp_path: Path, kind: str) -> None:
    store = tmp_path / "store"
    store.mkdir()
    world = World(store)
    world.remember("the boiler needs bleeding")
    assert world.call("health", OPERATOR)["codes"] == []
    code, break_it, words = FAULTS[kind]
    mend = break_it(world)
    told = world.call("health", OPERATOR)
    assert (told["status"], told["codes"]) == ("degraded", [code])
    assert re.search(words, told["reasons"][0]), told["reasons"]
    assert sample(samples(world), "brain_degraded", reason=code) == 1
    assert world.call("recall", ALICE, q="boiler")["hits"]
    if mend is not None:
        mend()
        assert world.call("health", OPERATOR)["status"] == "ok"
        assert sample(samples(world), "brain_degraded", reason=code) == 0
    world.close()


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [(apsw.ReadOnlyError, "read_only", "remount"), (apsw.FullError, "disk_full", "free some")],
)
def test_a_refused_write_is_told_as_long_as_the_disk_refuses(
    world: World, error: type[apsw.Error], code: str, words: str
) -> None:
    # A quota or a lost mount shows nowhere but in the answer to a write.
    world.memory.writer.refusal = error("no")
    assert world.call("health", OPERATOR)["status"] == "ok"  # it takes writes again
    probe = world.memory.directory / "probe"
    probe.symlink_to("/dev/full")  # not followed: the disk says no
    told = world.call("health", OPERATOR)
    assert told["codes"] == [code]
    assert words in told["reasons"][0]


def test_little_space_and_a_read_only_mount(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs(world.memory.directory)
    fields = list(real)
    fields[4], fields[8] = 1, os.ST_RDONLY  # f_bavail, f_flag
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(fields))
    told = world.call("health", OPERATOR)
    assert told["codes"] == ["read_only", "disk_low"]
    assert "remount" in told["reasons"][0]
    assert told["free_bytes"] == real.f_frsize


def test_only_a_deep_check_reads_the_pages(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = ["chunks have no vector"]
    monkeypatch.setattr(health.maintenance, "integrity_findings", lambda reader: finding)
    assert world.call("health", OPERATOR)["codes"] == []
    told = world.call("health", OPERATOR, deep=True)
    assert (told["codes"], told["reasons"]) == (["damaged"], finding)


def test_the_document_lists_every_code() -> None:
    text = (ROOT / "docs" / "operations.md").read_text().split("## Health")[1].split("\n## ")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", text, re.M)) == health.CODES
