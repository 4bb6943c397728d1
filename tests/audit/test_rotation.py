"""Full files are put aside and the oldest removed; the chain goes on over all of them."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from brain_daemon.audit import files
from brain_daemon.audit import log as audit_log
from brain_daemon.audit.log import AuditLog, telling, verify_file
from brain_daemon.errors import StoreDegraded

FULL = 2000  # bytes of a file: some ten records


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


def written(path: Path, n: int = 100, max_files: int = 1000) -> AuditLog:
    audit = AuditLog(path, FULL, max_files)
    for i in range(n):
        audit.append("forget", id=i)
    return audit


def ids(audit: AuditLog, after: int = 0) -> list[int]:
    return [record["id"] for record in audit.page(after, 10_000) if record["event"] == "forget"]


def test_a_full_file_is_put_aside_and_the_chain_goes_on(path: Path) -> None:
    audit = written(path)
    aside = files.put_aside(path)
    assert len(aside) > 5
    assert all(FULL <= file.stat().st_size < FULL + 400 for file in aside)
    assert path.stat().st_size < FULL + 400
    assert {file.stat().st_mode & 0o777 for file in (*aside, path)} == {0o600}
    assert ids(audit) == list(range(100))
    verdict = audit.verify()
    assert (verdict.findings, verdict.head) == ([], audit.head)
    assert verdict.records == 100 + len(aside)
    audit.close()
    assert verify_file(path).records == verdict.records


def test_a_page_begins_in_the_file_that_has_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = written(path)
    everything = audit.page(0, 10_000)
    for after in (0, 3, 50, len(everything) - 1, len(everything)):
        assert audit.page(after, 10_000) == everything[after:]
    decoded: list[bytes] = []
    decode = audit_log.chain.decode
    monkeypatch.setattr(
        audit_log.chain, "decode", lambda line: decoded.append(line) or decode(line)
    )
    audit.page(audit.head.seq - 2, 10)
    assert len(decoded) < 30  # older files are not read
    audit.close()


def test_without_a_bound_it_stays_one_file(path: Path) -> None:
    audit = AuditLog(path)
    for _ in range(200):
        audit.append("x")
    assert files.put_aside(path) == []
    audit.close()


def test_it_goes_on_after_a_restart_wherever_it_stopped(path: Path) -> None:
    audit = written(path)
    for _ in range(30):
        audit.close()
        audit = AuditLog(path, FULL, 1000)
        audit.append("forget", id=7)
        assert not audit.verify().findings
    # Killed between the two: the full file has its new name, and there is no other yet.
    audit.close()
    head = audit.head
    path.rename(files.aside(path, head.seq))
    audit = AuditLog(path, FULL, 1000)
    assert audit.head == head
    assert not audit.verify().findings
    audit.append("forget", id=8)
    assert not audit.verify(head).findings
    assert ids(audit)[-1] == 8
    audit.close()


def test_the_oldest_are_removed_and_that_is_told(path: Path) -> None:
    audit = written(path, 20)
    early = audit.head
    for i in range(20, 300):
        audit.append("forget", id=i)
    audit.close()
    audit = written(path, 40, max_files=4)
    aside = files.put_aside(path)
    assert len(aside) == 3
    assert sum(file.stat().st_size for file in (*aside, path)) < 4 * (FULL + 4000)
    verdict = audit.verify()
    assert verdict.findings == []
    assert verdict.start.seq > 200
    assert ids(audit)[-20:] == list(range(20, 40))
    assert not audit.verify(verdict.start).findings
    (finding,) = audit.verify(early).findings
    assert "note a newer head" in finding
    audit.close()


@pytest.mark.parametrize("which", [0, 3, -1])
def test_a_file_that_is_missing_is_found(path: Path, which: int) -> None:
    audit = written(path, max_files=6)
    for i in range(100):  # the first have been dropped, and that was told
        audit.append("forget", id=i)
    assert not audit.verify().findings
    files.put_aside(path)[which].unlink()
    assert audit.verify().findings
    audit.close()
    assert verify_file(path).findings


@pytest.mark.parametrize("change", ["a byte", "the last line", "swapped"])
def test_what_was_changed_in_a_file_put_aside_is_found(path: Path, change: str) -> None:
    audit = written(path)
    one, other, *_ = files.put_aside(path)
    if change == "a byte":
        one.write_bytes(one.read_bytes().replace(b'"id":3', b'"id":4'))
    elif change == "the last line":
        one.write_bytes(b"".join(one.read_bytes().splitlines(keepends=True)[:-1]))
    else:
        content = one.read_bytes()
        one.write_bytes(other.read_bytes())
        other.write_bytes(content)
    assert audit.verify().findings
    audit.close()


def test_a_line_cut_short_is_told_of_in_its_own_file(path: Path) -> None:
    audit = written(path, 5)
    audit.close()
    with path.open("ab") as file:
        file.write(b'{"seq":' + b"x" * FULL)
    audit = written(path, 30)
    assert not audit.verify().findings
    assert b"torn_sha256" in files.put_aside(path)[0].read_bytes()
    audit.close()


def test_a_log_that_cannot_be_put_aside_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")  # as after chattr +a

    monkeypatch.setattr(Path, "rename", refuse)
    audit = written(path)
    assert files.put_aside(path) == []
    assert ids(audit) == list(range(100))
    # Told once for each file that it would have filled.
    assert 1 < len(caplog.records) <= path.stat().st_size // FULL
    assert {record.message for record in caplog.records} == {caplog.records[0].message}
    assert "goes on growing" in caplog.records[0].message
    monkeypatch.undo()
    for i in range(30):
        audit.append("forget", id=i)
    assert files.put_aside(path)  # it goes on as before, without a restart
    assert path.stat().st_size < FULL + 400
    assert not audit.verify().findings
    audit.close()


def test_a_shortage_of_descriptors_stops_no_telling_for_good(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = written(path, 60, max_files=3)
    opens, dups = os.open, os.dup
    n_failed = 0

    def fail(*args: Any, **_: Any) -> int:
        nonlocal n_failed
        n_failed += 1
        raise OSError(24, "Too many open files")

    while path.stat().st_size < FULL:
        audit.append("forget", id=0)
    monkeypatch.setattr(audit_log.os, "open", fail)
    audit.append("forget", id=1)
    assert n_failed == 1
    monkeypatch.setattr(audit_log.os, "open", opens)
    monkeypatch.setattr(audit_log.os, "dup", fail)
    with pytest.raises(StoreDegraded, match="could not be synced"):
        audit.sync()
    monkeypatch.setattr(audit_log.os, "dup", dups)
    audit.sync()
    for i in range(30):
        audit.append("forget", id=i)
    audit.sync()
    assert audit.failure is None
    assert len(files.put_aside(path)) == 2
    assert not audit.verify().findings
    audit.close()


def test_a_page_of_a_file_that_cannot_be_opened_is_refused_by_its_name(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = written(path)
    oldest = files.put_aside(path)[0]
    opens = Path.open

    def refuse(self: Path, *args: Any) -> Any:
        if self == oldest:
            raise PermissionError(13, "Permission denied", str(self))
        return opens(self, *args)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(StoreDegraded, match=f"{oldest} cannot be read"):
        audit.page(0, 10)
    assert audit.page(audit.head.seq - 2, 10)
    audit.close()


def test_no_new_file_leaves_the_full_one_in_its_place(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = written(path, 5)
    opens = os.open

    def fail(target: Any, *args: Any) -> int:
        if Path(target) == path and not path.exists():
            raise OSError(28, "No space left on device")
        return opens(target, *args)

    monkeypatch.setattr(audit_log.os, "open", fail)
    for i in range(5, 30):
        audit.append("forget", id=i)
    assert files.put_aside(path) == []
    assert ids(audit) == list(range(30))
    audit.close()


def test_what_is_put_aside_is_durable_first(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = written(path, 5)

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(audit_log.os, "fdatasync", fail)
    while path.stat().st_size < FULL:
        audit.append("forget", id=0)
    with pytest.raises(StoreDegraded, match="could not be made durable"):
        audit.append("forget", id=0)
    assert files.put_aside(path) == []
    monkeypatch.undo()
    with pytest.raises(StoreDegraded, match="restart the daemon"):
        audit.append("forget", id=1)


@pytest.mark.parametrize("sync", ["fsync", "fdatasync"])
def test_a_rotation_that_is_not_durable_ends_the_telling_and_loses_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, sync: str
) -> None:
    audit = written(path, 60, max_files=3)
    n_files = len(files.put_aside(path)) + 1
    do = getattr(audit_log.os, sync)

    def fail(what: Any) -> None:
        if path.stat().st_size < FULL:  # the full one has left its place
            raise OSError(5, "Input/output error")
        do(what)

    monkeypatch.setattr(audit_log.os, sync, fail)
    while path.stat().st_size < FULL:
        audit.append("forget", id=0)
    with pytest.raises(StoreDegraded, match="could not be made durable"):
        audit.append("forget", id=1)
    with pytest.raises(StoreDegraded, match="restart the daemon"):
        audit.append("forget", id=2)
    head = audit.head
    assert audit.verify().findings == []
    assert len(files.put_aside(path)) + 1 == n_files + 1  # none was dropped
    audit.close()
    monkeypatch.undo()
    audit = AuditLog(path, FULL, 3)
    assert audit.head == head
    audit.append("forget", id=3)
    assert audit.page(head.seq, 9)[-1]["id"] == 3
    assert audit.verify(head).findings == []
    audit.close()


def test_an_old_file_that_cannot_be_read_is_kept_and_hinders_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    audit = written(path, 60)
    other = files.put_aside(path)[1]
    audit.close()
    audit = AuditLog(path, FULL, 3)
    head_of = files.head_of

    def fail(file: Path) -> Any:
        if file == other:
            raise OSError(5, "Input/output error")
        return head_of(file)

    monkeypatch.setattr(files, "head_of", fail)
    for i in range(60, 120):
        audit.append("forget", id=i)
    assert files.put_aside(path)[0] == other
    assert f"{other} is kept" in caplog.text
    assert ids(audit)[-60:] == list(range(60, 120))
    monkeypatch.undo()
    assert audit.verify().findings == []
    audit.close()


def test_threads_that_append_sync_and_verify_meet_no_closed_file(path: Path) -> None:
    audit = AuditLog(path, FULL, 3)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(60):
                audit.append("forget", id=i)
                audit.sync()
                if number == 0 and i % 10 == 0:
                    assert audit.verify().findings == []
                    audit.page(audit.head.seq - 5, 5)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert audit.head.seq > 240
    assert audit.verify().findings == []
    audit.close()


def test_what_no_daemon_does_is_told_with_its_end(path: Path) -> None:
    with telling(path, "restore", path="/b") as told:
        assert verify_file(path).records == 1  # before it is done
        told["chunks"] = 3
    with pytest.raises(ZeroDivisionError), telling(path, "reembed"):
        raise ZeroDivisionError
    audit = AuditLog(path)
    steps = [(r["event"], r["step"], r["uid"], r.get("of")) for r in audit.page(0, 9)]
    uid = os.getuid()
    assert steps == [
        ("restore", "begun", uid, None),
        ("restore", "done", uid, 1),
        ("reembed", "begun", uid, None),
        ("reembed", "failed", uid, 3),
    ]
    assert (audit.page(0, 1)[0]["path"], audit.page(1, 1)[0]["chunks"]) == ("/b", 3)
    audit.close()
