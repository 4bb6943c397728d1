"""A backup takes the place of a store, sound or not at all; what was there is kept."""

from pathlib import Path

import apsw
import pyrage
import pytest

from brain_daemon.errors import BadRequest, SchemaTooNew, StoreDegraded
from brain_daemon.store import backup, connection, documents, encryption, maintenance, schema
from brain_daemon.store.restore import restore

from .samples import WRITER, make_document, make_older, model_facts


def store(folder: Path, *texts: str) -> apsw.Connection:
    folder.mkdir(mode=0o700, exist_ok=True)
    conn = connection.open_writer(folder / "brain.db")
    schema.prepare(conn, **model_facts())
    with conn:
        for text in texts:
            documents.put(conn, make_document(text), WRITER, 0)
    return conn


def texts(folder: Path) -> list[str]:
    conn = connection.open_reader(folder / "brain.db")
    found = [row[0] for row in conn.execute("SELECT text FROM chunk ORDER BY id")]
    assert maintenance.integrity_findings(conn) == []
    conn.close()
    return found


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A backup of a store with two texts."""
    conn = store(tmp_path / "first", "one", "two")
    backup.backup(conn, tmp_path / "copy.db")
    conn.close()
    return tmp_path / "copy.db"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_what_was_there_is_kept_with_its_log(copy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    conn = store(folder, "three")
    before = contents(folder)
    assert before["brain.db-wal"]
    left = {name: data for name, data in before.items() if name != "brain.db-shm"}
    done = restore(copy, folder)
    conn.close()
    assert (done["documents"], done["chunks"]) == (2, 2)
    assert done["schema_version"] == schema.SCHEMA_VERSION
    kept = Path(done["kept"])
    assert left.items() <= contents(kept).items()
    assert kept.stat().st_mode & 0o777 == 0o700
    assert (folder / "brain.db").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in folder.iterdir()) == ["brain.db", kept.name]
    assert texts(folder) == ["one", "two"]
    assert texts(kept) == ["three"]


def test_a_second_restore_keeps_the_first(copy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store(folder, "three").close()
    first, second = restore(copy, folder)["kept"], restore(copy, folder)["kept"]
    assert first != second
    assert texts(Path(first)) == ["three"]
    assert texts(Path(second)) == ["one", "two"]


def test_an_empty_folder_is_filled(copy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    assert restore(copy, folder)["kept"] is None
    assert texts(folder) == ["one", "two"]


def test_a_backup_without_checksums_is_taken_and_given_them(tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    plain = apsw.Connection(str(old), vfs="unix")
    plain.pragma("journal_mode", "wal")
    plain.close()
    conn = connection.open_writer(old)
    schema.prepare(conn, **model_facts())
    make_older(conn, schema.CHECKSUMS_SINCE - 1)
    maintenance.checkpoint(conn)
    conn.close()
    folder = tmp_path / "store"
    folder.mkdir()
    assert restore(old, folder)["schema_version"] == schema.CHECKSUMS_SINCE - 1


@pytest.mark.parametrize(
    ("unfit", "error"),
    [
        ("a flipped bit", StoreDegraded),
        ("cut off", StoreDegraded),
        ("half", StoreDegraded),
        ("a damaged header", StoreDegraded),
        ("a damaged first page", StoreDegraded),
        ("no database", StoreDegraded),
        ("empty", BadRequest),
        ("another program's", BadRequest),
        ("absent", BadRequest),
        ("a folder", BadRequest),
        ("too new", SchemaTooNew),
        ("inconsistent", StoreDegraded),
    ],
)
def test_an_unfit_backup_changes_nothing(
    unfit: str, error: type[Exception], copy: Path, tmp_path: Path
) -> None:
    content = bytearray(copy.read_bytes())
    match unfit:
        case "a flipped bit":
            content[-5000] ^= 1
        case "cut off":
            del content[-10_000:]
        case "half":
            del content[len(content) // 2 :]
        case "a damaged header":
            content[3] ^= 1
        case "a damaged first page":
            content[4000] ^= 1
        case "no database":
            content[:] = b"precious" * 1000
        case "empty":
            content.clear()
    copy.write_bytes(content)
    match unfit:
        case "absent":
            copy.unlink()
        case "a folder":
            copy.unlink()
            copy.mkdir()
        case "another program's":
            copy.unlink()
            other = apsw.Connection(str(copy))
            other.execute("CREATE TABLE theirs(x)")
            other.close()
        case "too new" | "inconsistent":
            conn = connection.open_writer(copy)
            if unfit == "too new":
                conn.pragma("user_version", schema.SCHEMA_VERSION + 1)
            else:
                conn.execute("DELETE FROM chunk_fts WHERE rowid = 1")
            conn.close()
    folder = tmp_path / "store"
    store(folder, "three").close()
    before = contents(folder)
    with pytest.raises(error) as caught:
        restore(copy, folder)
    assert contents(folder) == before
    if error is not SchemaTooNew:
        assert str(copy) in str(caught.value)  # it is the backup that is unfit, not the store
    if error is StoreDegraded:
        assert "take an older one" in str(caught.value)


def test_a_backup_may_be_encrypted(tmp_path: Path) -> None:
    identity = pyrage.x25519.Identity.generate()
    key = tmp_path / "key.txt"
    key.write_text(f"# a key\n{identity}\n")
    conn = store(tmp_path / "first", "harbour", "two")
    copy = tmp_path / "copy.age"
    done = backup.backup(conn, copy, recipient=str(identity.to_public()))
    conn.close()
    content = copy.read_bytes()
    assert done["size_bytes"] == len(content)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert b"harbour" not in content
    assert b"SQLite" not in content
    folder = tmp_path / "store"
    folder.mkdir()
    with pytest.raises(BadRequest, match="--identity"):
        restore(copy, folder)
    other = tmp_path / "other.txt"
    other.write_text(str(pyrage.x25519.Identity.generate()))
    with pytest.raises(BadRequest, match="cannot be decrypted"):
        restore(copy, folder, other)
    other.write_text("no key")
    with pytest.raises(BadRequest, match="no age key"):
        restore(copy, folder, other)
    copy.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(BadRequest, match="cannot be decrypted"):
        restore(copy, folder, key)
    assert list(folder.iterdir()) == []
    copy.write_bytes(content)
    assert restore(copy, folder, key)["chunks"] == 2
    assert texts(folder) == ["harbour", "two"]


def test_a_recipient_that_is_no_key_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    conn = store(tmp_path / "first", "one")
    with pytest.raises(BadRequest, match="age-keygen"):
        backup.backup(conn, tmp_path / "copy.age", recipient="age1nonsense")
    assert not (tmp_path / "copy.age").exists()
    conn.close()


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyrage", None)
    with pytest.raises(BadRequest, match=r"brain-daemon\[encrypt\]"):
        encryption.library()
