"""The write-ahead log: torn is not damaged, and what is damaged is not moved into the file."""

import shutil
from pathlib import Path

import apsw
import pytest

from brain_daemon.store import connection, documents, log, maintenance, schema

from .samples import WRITER, make_document, model_facts

FRAME = 24 + 4096


@pytest.fixture
def crashed(conn: apsw.Connection, store_path: Path, tmp_path: Path) -> Path:
    """A store as a crash leaves it, with ten commits in its log."""
    maintenance.checkpoint(conn)
    for number in range(10):
        with conn:
            documents.put(conn, make_document(f"text {number}"), WRITER, 0)
    folder = tmp_path / "crashed"
    folder.mkdir()
    for end in ("", "-wal"):
        shutil.copy(f"{store_path}{end}", folder / f"brain.db{end}")
    return folder / "brain.db"


def wal(path: Path) -> Path:
    return Path(f"{path}-wal")


def flip(file: Path, offset: int) -> None:
    content = bytearray(file.read_bytes())
    content[offset] ^= 1
    file.write_bytes(content)


def n_frames(path: Path) -> int:
    return (wal(path).stat().st_size - 32) // FRAME


def test_a_whole_log_is_sound(crashed: Path) -> None:
    n = n_frames(crashed)
    assert n > 50
    assert log.is_sound(wal(crashed), n)
    assert not log.is_sound(wal(crashed), n + 1)
    assert log.n_cut_off(wal(crashed)) == 0
    assert log.n_cut_off(crashed.with_name("absent")) == 0
    conn = connection.open_writer(crashed)
    assert maintenance.settle(conn).findings == []
    assert maintenance.counts(conn)["documents"] == 10
    conn.close()


@pytest.mark.parametrize("offset", [10, 17, 28, 32 + 3, 32 + 10, 32 + 20, 32 + 24 + 2000])
def test_damage_before_later_commits_is_told_and_the_log_kept(crashed: Path, offset: int) -> None:
    flip(wal(crashed), offset)
    content = wal(crashed).read_bytes()
    assert not log.is_sound(wal(crashed), n_frames(crashed))
    for _ in range(2):  # it is told at each start
        conn = connection.open_writer(crashed)
        check = maintenance.settle(conn)
        conn.close()
        assert check.is_treacherous
        assert "9 commits" in check.findings[0]
        assert wal(crashed).read_bytes() == content


@pytest.mark.parametrize("cut", [1, FRAME, 3 * FRAME - 100])
def test_a_torn_end_is_no_damage(crashed: Path, cut: int) -> None:
    content = wal(crashed).read_bytes()
    wal(crashed).write_bytes(content[:-cut])
    conn = connection.open_writer(crashed)
    assert maintenance.settle(conn).findings == []
    schema.prepare(conn, **model_facts())
    assert maintenance.integrity_findings(conn) == []
    assert maintenance.counts(conn)["documents"] == 9
    conn.close()


def test_frames_of_an_earlier_log_are_not_of_this_one(
    conn: apsw.Connection, store_path: Path
) -> None:
    for number in range(5):
        with conn:
            documents.put(conn, make_document(f"text {number}"), WRITER, 0)
    conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
    with conn:
        documents.put(conn, make_document("begins the log anew"), WRITER, 0)
    assert n_frames(store_path) > 20
    assert log.n_cut_off(wal(store_path)) == 0
