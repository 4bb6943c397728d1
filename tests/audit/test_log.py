"""The file: append only, private, whole after a crash, bounded against a client that hammers."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from brain_daemon.audit import log as audit_log
from brain_daemon.audit.log import AuditLog, read_head, verify_file
from brain_daemon.errors import BadRequest, StoreDegraded


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


@pytest.fixture
def audit(path: Path) -> Iterator[AuditLog]:
    opened = AuditLog(path)
    yield opened
    opened.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [audit_log.time.monotonic()]
    monkeypatch.setattr(audit_log.time, "monotonic", lambda: now[0])
    return now


def events(audit: AuditLog) -> list[str]:
    return [record["event"] for record in audit.page(0, 10_000)]


def test_it_is_private_and_goes_on_where_it_ended(path: Path) -> None:
    for n in range(3):
        audit = AuditLog(path)
        assert audit.head.seq == 2 * n
        audit.append("a", id=n)
        audit.append("b")
        audit.close()
        audit.close()  # once more does nothing
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    verdict = verify_file(path)
    assert (verdict.findings, verdict.head.seq) == ([], 6)


def test_a_page_follows_a_number(audit: AuditLog) -> None:
    for n in range(10):
        audit.append("x", n=n)
    assert [record["n"] for record in audit.page(0, 3)] == [0, 1, 2]
    assert [record["n"] for record in audit.page(8, 3)] == [8, 9]
    assert audit.page(10, 3) == []


@pytest.mark.parametrize("left", ["nothing", "half a line", "a line less", "all but a byte"])
def test_what_is_cut_off_while_the_daemon_runs_is_found(
    audit: AuditLog, path: Path, left: str
) -> None:
    for _ in range(5):
        audit.append("x")
    assert not audit.verify().findings
    size = path.stat().st_size
    last = len(path.read_bytes().splitlines(keepends=True)[-1])
    os.truncate(
        path,
        {"nothing": 0, "half a line": size - 9, "a line less": size - last}.get(left, size - 1),
    )
    assert audit.verify().findings
    audit.append("y")  # and still when the log has grown again
    assert audit.verify().findings


def test_another_file_in_its_place_is_found(audit: AuditLog, path: Path) -> None:
    audit.append("x")
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)
    assert "another file" in audit.verify().findings[0]
    path.unlink()
    assert "cannot be read" in audit.verify().findings[0]


def test_lines_put_in_behind_the_daemons_back_are_found(audit: AuditLog, path: Path) -> None:
    audit.append("x")
    other = AuditLog(path)
    other.append("forged")
    other.close()
    assert "behind its back" in audit.verify().findings[0]


def test_cut_off_while_no_daemon_runs_takes_a_noted_head(path: Path) -> None:
    audit = AuditLog(path)
    audit.append("a")
    audit.append("b")
    noted = read_head(str(audit.head))
    audit.close()
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    audit = AuditLog(path)
    assert not audit.verify().findings
    assert "1 were cut off" in audit.verify(noted).findings[0]
    audit.append("c")
    assert "written anew" in audit.verify(noted).findings[0]
    audit.close()


@pytest.mark.parametrize("torn", [b'{"seq":3,"at', b"x"])
def test_a_line_cut_short_by_a_crash_ends_nothing(path: Path, torn: bytes) -> None:
    audit = AuditLog(path)
    audit.append("a")
    audit.close()
    with path.open("ab") as file:
        file.write(torn)
    audit = AuditLog(path)
    audit.append("b")
    assert events(audit) == ["a", "audit.recovered", "b"]
    assert not audit.verify().findings
    audit.close()


def test_a_full_disk_is_a_typed_error_and_the_chain_goes_on(
    audit: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit.append("a")
    written = os.write
    room = [10]

    def write(descriptor: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        part = data[: room[0]]
        room[0] -= len(part)
        return written(descriptor, part)

    monkeypatch.setattr(audit_log.os, "write", write)
    with pytest.raises(StoreDegraded, match=r"No space left.*free some space"):
        audit.append("b")
    room[0] = 20
    audit.denied(7, 1, "recall", "no")  # makes no refusal fail
    monkeypatch.undo()
    audit.append("c")
    assert events(audit) == ["a", "audit.recovered", "c"]
    assert not audit.verify().findings


def test_after_a_failed_sync_nothing_is_told_any_more(
    audit: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    audit.append("a")
    monkeypatch.setattr(audit_log.os, "fdatasync", fail)
    with pytest.raises(StoreDegraded, match="could not be made durable"):
        audit.sync()
    monkeypatch.undo()
    with pytest.raises(StoreDegraded, match="restart the daemon"):
        audit.append("b")


def test_sync_touches_the_disk_only_when_something_is_new(
    audit: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    monkeypatch.setattr(audit_log.os, "fdatasync", calls.append)
    audit.sync()
    audit.append("a")
    audit.append("b")
    audit.sync()
    audit.sync()
    assert len(calls) == 1


def test_a_record_that_lacks_only_its_line_end_is_one(path: Path) -> None:
    audit = AuditLog(path)
    audit.append("a")
    audit.append("b")
    audit.close()
    os.truncate(path, path.stat().st_size - 1)
    audit = AuditLog(path)
    assert audit.verify().findings
    audit.append("c")
    assert events(audit) == ["a", "b", "c"]
    assert not audit.verify().findings
    audit.close()


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_what_is_no_file_of_ours_is_not_opened(path: Path, kind: str) -> None:
    if kind == "link":
        path.symlink_to(path.with_name("elsewhere"))
    else:
        path.mkdir()
    with pytest.raises(StoreDegraded, match=r"audit\.log cannot be opened"):
        AuditLog(path)
    assert not path.with_name("elsewhere").exists()


def test_a_client_that_hammers_fills_no_disk(
    audit: AuditLog, path: Path, clock: list[float]
) -> None:
    reason = "x" * 10_000
    for _ in range(24 * 60):  # a day, with a thousand refusals a minute
        for _ in range(1000):
            audit.denied(1000, 1, "recall", reason)
        clock[0] += 60
    records = audit.page(0, 100_000)
    assert len(records) <= audit_log.BURST_PER_UID + 24 * 60
    assert path.stat().st_size < 2 << 20
    told = len(records) + sum(record.get("suppressed", 0) for record in records)
    assert 0 < 24 * 60 * 1000 - told < 1000  # the last minute's are still untold


def test_many_uids_together_are_bounded_too(
    audit: AuditLog, path: Path, clock: list[float]
) -> None:
    for hour in range(24):
        for uid in range(5000):
            audit.denied(uid + 5000 * hour, 1, "connect", "no")
        clock[0] += 3600
    records = audit.page(0, 100_000)
    assert len(records) <= 24 * audit_log.BURST
    assert len(audit._buckets) <= audit_log.MAX_UIDS


def test_one_that_hammers_does_not_hide_another(audit: AuditLog, clock: list[float]) -> None:
    for _ in range(1000):
        audit.denied(1000, 1, "recall", "no")
    audit.denied(1001, 2, "recall", "no")
    assert [record["uid"] for record in audit.page(0, 100)][-1] == 1001


def test_what_is_untold_at_the_end_is_told(path: Path, clock: list[float]) -> None:
    audit = AuditLog(path)
    for _ in range(15):
        audit.denied(1000, 1, "recall", "no")
    audit.close()
    last = AuditLog(path).page(0, 100)[-1]
    assert (last["event"], last["suppressed"]) == ("denied.more", {"1000": 5})


@pytest.mark.parametrize("text", ["", "5", "x:" + "0" * 64, "5:" + "0" * 63, "5:" + "g" * 64])
def test_what_is_no_head_is_told(text: str) -> None:
    with pytest.raises(BadRequest, match="is no head"):
        read_head(text)
