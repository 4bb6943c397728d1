"""Every page carries its checksum; whatever is wrong with a file at rest is named."""

from pathlib import Path

import apsw
import pytest

from brain_daemon.errors import StoreDegraded
from brain_daemon.store import (
    backup,
    checksums,
    chunks,
    connection,
    documents,
    failures,
    maintenance,
    schema,
)

from .samples import WRITER, make_document, make_older, model_facts

PAGE = checksums.PAGE_BYTES


@pytest.fixture
def filled(conn: apsw.Connection) -> apsw.Connection:
    with conn:
        for number in range(300):
            documents.put(conn, make_document(f"text {number} " + "lorem " * 60), WRITER, 0)
    with conn:
        for number in range(1, 120):
            documents.remove(conn, number)
    maintenance.checkpoint(conn)
    return conn


def damage(path: Path, offset: int, data: bytes | None = None) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        before = file.read(1)
        file.seek(offset)
        file.write(bytes([before[0] ^ 4]) if data is None else data)


def page_of(conn: apsw.Connection, table: str) -> int:
    found = "SELECT max(pageno) FROM dbstat WHERE name = ? AND pagetype = 'leaf'"
    return int(conn.execute(found, (table,)).get)


def test_a_sound_store_has_no_findings_with_free_and_empty_pages(
    filled: apsw.Connection, store_path: Path
) -> None:
    assert filled.pragma("freelist_count") > 0
    assert checksums.are_on(store_path)
    assert checksums.check(store_path).zeroed  # the unused ends of blocks of vectors
    assert maintenance.check_pages(filled).findings == []
    assert checksums.check_in_use(store_path).findings == []


def test_a_flipped_bit_is_told_and_its_page_not_served(
    filled: apsw.Connection, store_path: Path
) -> None:
    page = page_of(filled, "chunk")
    damage(store_path, (page - 1) * PAGE + 2000)
    (finding,) = maintenance.check_pages(filled).findings
    assert f"({page})" in finding
    assert checksums.check_in_use(store_path).damaged == [page]
    reader = connection.open_reader(store_path)
    with pytest.raises(apsw.IOError) as caught:
        chunks.fetch(reader, range(1, 301))
    assert failures.is_damage(caught.value)
    assert "brain restore" in str(failures.translate(caught.value))
    assert any("damaged" in line for line in maintenance.integrity_findings(reader))
    reader.close()


@pytest.mark.parametrize("table", ["chunk", "chunk_fts_data", "document", "chunk_vec_rowids"])
def test_a_zeroed_page_is_told(filled: apsw.Connection, store_path: Path, table: str) -> None:
    page = page_of(filled, table)
    damage(store_path, (page - 1) * PAGE, bytes(PAGE))
    check = maintenance.check_pages(connection.open_reader(store_path))
    assert check.zeroed == [page]
    assert check.is_treacherous


def test_a_file_that_was_cut_off_is_told(filled: apsw.Connection, store_path: Path) -> None:
    size = store_path.stat().st_size
    with store_path.open("r+b") as file:
        file.truncate(size - 3 * PAGE)
    assert checksums.check(store_path).n_missing == 3
    with store_path.open("r+b") as file:
        file.truncate(size - 3 * PAGE - 100)
    check = checksums.check(store_path)
    assert check.damaged
    assert len(check.findings) >= 2


@pytest.mark.parametrize("offset", [0, 16, 20, 28, 35, 60])
def test_a_damaged_header_is_told(filled: apsw.Connection, store_path: Path, offset: int) -> None:
    damage(store_path, offset)
    assert checksums.check(store_path).findings
    assert checksums.check_in_use(store_path).findings


def test_a_damaged_list_of_free_pages_is_told(filled: apsw.Connection, store_path: Path) -> None:
    trunk = int.from_bytes(store_path.read_bytes()[32:36], "big")
    damage(store_path, (trunk - 1) * PAGE, bytes(PAGE))
    assert any("free pages" in line for line in checksums.check(store_path).findings)


def test_a_store_of_an_older_release_is_given_checksums(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    plain = apsw.Connection(str(path), vfs="unix")
    plain.pragma("journal_mode", "wal")
    plain.close()
    assert not checksums.are_on(path)
    conn = connection.open_writer(path)
    schema.prepare(conn, **model_facts())
    with conn:
        documents.put(conn, make_document("text before"), WRITER, 0)
    make_older(conn, schema.CHECKSUMS_SINCE - 1)
    maintenance.checkpoint(conn)
    conn.close()
    conn = connection.open_writer(path)
    schema.prepare(conn, **model_facts())
    maintenance.checkpoint(conn)
    assert checksums.are_on(path)
    assert schema.version(conn) == schema.SCHEMA_VERSION
    assert checksums.check(path).damaged == []
    assert chunks.fetch(conn, [1])[0].text == "text before"
    conn.close()


def test_backup_and_compaction_keep_checksums(
    filled: apsw.Connection, store_path: Path, tmp_path: Path
) -> None:
    target = tmp_path / "copy" / "brain.db"
    target.parent.mkdir()
    reader = connection.open_reader(store_path)
    backup.backup(reader, target)
    reader.close()
    assert checksums.are_on(target)
    assert checksums.check(target).damaged == []
    maintenance.compact(filled)
    assert checksums.are_on(store_path)
    assert maintenance.check_pages(filled).findings == []


def test_a_damaged_store_is_not_backed_up(
    filled: apsw.Connection, store_path: Path, tmp_path: Path
) -> None:
    damage(store_path, (page_of(filled, "chunk") - 1) * PAGE + 2000)
    reader = connection.open_reader(store_path)
    target = tmp_path / "copy" / "brain.db"
    target.parent.mkdir()
    with pytest.raises((apsw.IOError, StoreDegraded)):
        backup.backup(reader, target)
    assert list(target.parent.iterdir()) == []
    reader.close()
