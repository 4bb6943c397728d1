import fcntl
import hashlib
import threading
from pathlib import Path

import apsw
import pytest

from brain_daemon.errors import BadRequest, Conflict, StoreDegraded
from brain_daemon.store import backup, chunks, connection, documents, maintenance, schema

from .samples import WRITER, make_document, model_facts


@pytest.fixture
def reader(conn: apsw.Connection):
    with conn:
        for number in range(50):
            documents.put(conn, make_document(f"text {number}", "second"), WRITER, 0)
    opened = connection.open_reader(conn.filename)
    yield opened
    opened.close()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder other than the store's."""
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


def test_a_backup_is_private_whole_and_usable(reader: apsw.Connection, tmp_path: Path) -> None:
    target = tmp_path / "copy" / "brain.db"
    target.parent.mkdir()
    result = backup.backup(reader, target)
    content = target.read_bytes()
    assert result == {
        "path": str(target),
        "size_bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "schema_version": schema.SCHEMA_VERSION,
        "documents": 50,
        "chunks": 100,
        "entities": 0,
        "mentions": 0,
        "edges": 0,
    }
    assert target.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in target.parent.iterdir()] == ["brain.db"]
    restored = connection.open_writer(target)
    schema.prepare(restored, **model_facts())
    assert chunks.fetch(restored, [1, 100]) == chunks.fetch(reader, [1, 100])
    with restored:
        documents.put(restored, make_document("goes on"), WRITER, 0)
    assert maintenance.integrity_findings(restored) == []
    restored.close()


def test_a_backup_has_no_forgotten_words_after_compact(
    conn: apsw.Connection, reader: apsw.Connection, outside: Path
) -> None:
    with conn:
        stored = documents.put(conn, make_document("xanthophyllous leaf"), WRITER, 0)
    with conn:
        documents.remove(conn, stored.document_id)
    held = b"anthoph"  # stemmed and prefix-compressed in the full-text index
    earlier, later = outside / "earlier.db", outside / "later.db"
    backup.backup(reader, earlier)
    assert held in earlier.read_bytes()  # which is why compacting is needed
    maintenance.compact(conn)
    backup.backup(reader, later)
    assert held not in later.read_bytes()
    assert b"second" in later.read_bytes()


def test_an_existing_file_is_replaced_only_when_asked(
    reader: apsw.Connection, outside: Path
) -> None:
    target = outside / "copy.db"
    backup.backup(reader, target)
    before = target.stat()
    with pytest.raises(Conflict, match="overwrite"):
        backup.backup(reader, target)
    assert target.stat() == before
    assert backup.backup(reader, target, overwrite=True)["chunks"] == 100
    assert target.stat().st_ino != before.st_ino
    assert target.stat().st_mode & 0o777 == 0o600


def test_an_encrypted_backup_may_be_replaced_too(reader: apsw.Connection, outside: Path) -> None:
    target = outside / "copy.age"
    target.write_bytes(b"age-encryption.org/v1\n-> X25519 ...")
    assert backup.backup(reader, target, overwrite=True)["chunks"] == 100


@pytest.mark.parametrize("content", [b"precious", b"", b"SQLite format 3\0" + bytes(84)])
def test_what_is_no_backup_is_never_replaced(
    reader: apsw.Connection, outside: Path, content: bytes
) -> None:
    target = outside / "policy.toml"
    target.write_bytes(content)
    with pytest.raises(Conflict, match=r"policy\.toml exists and is no backup"):
        backup.backup(reader, target, overwrite=True)
    assert target.read_bytes() == content


def test_a_file_that_appears_meanwhile_is_not_replaced(
    reader: apsw.Connection, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = outside / "copy.db"
    verify = backup._verify

    def slow_verify(*arguments: object) -> None:
        target.write_text("precious")
        verify(*arguments)

    monkeypatch.setattr(backup, "_verify", slow_verify)
    with pytest.raises(Conflict):
        backup.backup(reader, target)
    assert target.read_text() == "precious"
    assert not list(outside.glob(".*"))


@pytest.mark.parametrize(
    "name",
    [
        "brain.db",
        "brain.db-wal",
        "lock",
        "new.db",
        "alias/lock",
        "absent/copy.db",
        "outside",
        "outside/link",
        "outside/twin",
        "outside/" + "x" * 300,
        "/proc/copy.db",
    ],
)
def test_targets_that_are_refused(
    reader: apsw.Connection, tmp_path: Path, outside: Path, name: str
) -> None:
    (tmp_path / "lock").write_text("1\n")
    (tmp_path / "alias").symlink_to(tmp_path)
    (outside / "link").symlink_to(tmp_path / "brain.db")
    (outside / "twin").hardlink_to(tmp_path / "brain.db")
    with pytest.raises(BadRequest):
        backup.backup(reader, tmp_path / name, overwrite=True)
    assert maintenance.counts(reader)["chunks"] == 100
    assert (tmp_path / "lock").read_text() == "1\n"


def test_two_backups_to_one_path_do_not_mix(
    reader: apsw.Connection, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = backup._copy

    def copy_with_company(*arguments: object) -> dict[str, int]:
        with pytest.raises(Conflict, match="under way"):
            backup.backup(reader, outside / "copy.db")
        return copy(*arguments)

    monkeypatch.setattr(backup, "_copy", copy_with_company)
    assert backup.backup(reader, outside / "copy.db")["chunks"] == 100
    assert [path.name for path in outside.iterdir()] == ["copy.db"]


@pytest.mark.parametrize("overwrite", [False, True])  # it gets its name by a link, or by renaming
def test_a_backup_that_begins_as_another_ends_harms_neither(
    reader: apsw.Connection, outside: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    """It opens the file that is being written, and locks it when that is the finished backup."""
    target = outside / "copy.db"
    done: list[dict[str, object]] = []
    lock, copy = fcntl.flock, backup._copy

    def lock_late(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        done.append(backup.backup(reader, target, overwrite=overwrite))
        lock(descriptor, operation)

    def copy_when_the_other_is_whole(*arguments: object) -> dict[str, int]:
        if done:
            assert hashlib.sha256(target.read_bytes()).hexdigest() == done[0]["sha256"]
        return copy(*arguments)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    monkeypatch.setattr(backup, "_copy", copy_when_the_other_is_whole)
    if overwrite:
        assert backup.backup(reader, target, overwrite=True)["chunks"] == 100
    else:
        with pytest.raises(Conflict, match="exists"):
            backup.backup(reader, target)
    assert done
    assert [path.name for path in outside.iterdir()] == ["copy.db"]


def test_a_backup_that_ends_leaves_the_next_one_its_file(
    reader: apsw.Connection, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, partial = outside / "copy.db", outside / ".copy.db.partial"
    replace = Path.replace

    def replace_as_another_begins(self: Path, to: Path) -> Path:
        replaced = replace(self, to)
        partial.write_bytes(b"the next one's")
        return replaced

    monkeypatch.setattr(Path, "replace", replace_as_another_begins)
    backup.backup(reader, target, overwrite=True)
    assert partial.read_bytes() == b"the next one's"


def test_one_killed_as_it_gave_the_name_leaves_a_whole_backup(
    reader: apsw.Connection, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = outside / "copy.db"
    before = backup.backup(reader, target)
    (outside / ".copy.db.partial").hardlink_to(target)

    def fail(*arguments: object) -> dict[str, int]:
        raise StoreDegraded("no copy this time")

    with monkeypatch.context() as patched:
        patched.setattr(backup, "_copy", fail)
        with pytest.raises(StoreDegraded, match="no copy"):
            backup.backup(reader, target, overwrite=True)
    assert hashlib.sha256(target.read_bytes()).hexdigest() == before["sha256"]
    assert backup.backup(reader, target, overwrite=True)["chunks"] == 100


def test_a_copy_that_cannot_be_opened_holds_no_old_state(
    reader: apsw.Connection, conn: apsw.Connection, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the descriptors have run out: a read that stays open keeps the log for ever."""
    copy = backup._copy

    def copy_to_nowhere(source: apsw.Connection, partial: Path) -> dict[str, int]:
        partial.unlink()
        return copy(source, partial)

    with monkeypatch.context() as patched:
        patched.setattr(backup, "_copy", copy_to_nowhere)
        with pytest.raises(apsw.CantOpenError):
            backup.backup(reader, outside / "copy.db")
    assert not reader.in_transaction
    maintenance.checkpoint(conn)
    assert backup.backup(reader, outside / "copy.db")["chunks"] == 100


def test_what_an_interrupted_backup_left_is_replaced(
    reader: apsw.Connection, outside: Path
) -> None:
    (outside / ".copy.db.partial").write_bytes(b"half" * 10_000)
    (outside / ".copy.db.partial-journal").write_bytes(b"a rollback journal" * 1000)
    assert backup.backup(reader, outside / "copy.db")["chunks"] == 100
    assert [path.name for path in outside.iterdir()] == ["copy.db"]


def test_an_unsound_copy_is_removed(
    reader: apsw.Connection, conn: apsw.Connection, outside: Path
) -> None:
    with conn:
        conn.execute("DELETE FROM chunk_fts WHERE rowid = 1")
    with pytest.raises(StoreDegraded, match="1 chunks have no full-text entry"):
        backup.backup(reader, outside / "copy.db")
    assert list(outside.iterdir()) == []


def test_a_busy_store_is_backed_up_at_one_commit(
    reader: apsw.Connection,
    conn: apsw.Connection,
    outside: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One page a step and a commit before each: a copy that starts again would never end."""
    monkeypatch.setattr(backup, "STEP_PAGES", 1)
    stop, wrote = threading.Event(), threading.Semaphore(0)

    def write() -> None:
        while not stop.is_set():
            with conn:
                documents.put(conn, make_document("busy", "busier"), WRITER, 0)
            wrote.release()

    copy = backup._copy

    def copy_while_writing(*arguments: object) -> dict[str, int]:
        assert wrote.acquire(timeout=30)
        result = copy(*arguments)
        assert wrote.acquire(timeout=30)
        return result

    monkeypatch.setattr(backup, "_copy", copy_while_writing)
    thread = threading.Thread(target=write)
    thread.start()
    try:
        result = backup.backup(reader, outside / "copy.db")
    finally:
        stop.set()
        thread.join()
    assert result["chunks"] % 2 == 0
    assert result["chunks"] > 100
    assert maintenance.integrity_findings(conn) == []
