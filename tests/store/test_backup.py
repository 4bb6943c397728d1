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


def test_an_existing_file_is_replaced_only_when_asked(
    reader: apsw.Connection, tmp_path: Path
) -> None:
    target = tmp_path / "copy.db"
    target.write_text("precious")
    with pytest.raises(Conflict, match="overwrite"):
        backup.backup(reader, target)
    assert target.read_text() == "precious"
    assert backup.backup(reader, target, overwrite=True)["chunks"] == 100
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_file_that_appears_meanwhile_is_not_replaced(
    reader: apsw.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "copy.db"
    verify = backup._verify

    def slow_verify(*arguments: object) -> None:
        target.write_text("precious")
        verify(*arguments)

    monkeypatch.setattr(backup, "_verify", slow_verify)
    with pytest.raises(Conflict):
        backup.backup(reader, target)
    assert target.read_text() == "precious"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", ["brain.db", "brain.db-wal", "absent/copy.db", "folder", "link"])
def test_targets_that_are_refused(reader: apsw.Connection, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "brain.db")
    with pytest.raises(BadRequest):
        backup.backup(reader, tmp_path / name, overwrite=True)
    assert maintenance.counts(reader)["chunks"] == 100


def test_an_unsound_copy_is_removed(
    reader: apsw.Connection, conn: apsw.Connection, tmp_path: Path
) -> None:
    with conn:
        conn.execute("DELETE FROM chunk_fts WHERE rowid = 1")
    with pytest.raises(StoreDegraded, match="1 chunks have no full-text entry"):
        backup.backup(reader, tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "brain.db",
        "brain.db-shm",
        "brain.db-wal",
    ]


def test_a_busy_store_is_backed_up_at_one_commit(
    reader: apsw.Connection,
    conn: apsw.Connection,
    tmp_path: Path,
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
        result = backup.backup(reader, tmp_path / "copy.db")
    finally:
        stop.set()
        thread.join()
    assert result["chunks"] % 2 == 0
    assert result["chunks"] > 100
    assert maintenance.integrity_findings(conn) == []
