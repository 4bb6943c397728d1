import os
import threading
from pathlib import Path

import apsw
import pytest

from brain_daemon.store import chunks, connection, documents, schema

from .samples import WRITER, make_document, model_facts


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_files_are_private_whatever_the_umask(store_path: Path) -> None:
    before = os.umask(0)
    try:
        conn = connection.open_writer(store_path)
        schema.prepare(conn, **model_facts())
        for suffix in ("", "-wal", "-shm"):
            assert _mode(Path(f"{store_path}{suffix}")) == 0o600
        conn.close()
        store_path.chmod(0o644)
        connection.open_writer(store_path).close()
        assert _mode(store_path) == 0o600
    finally:
        os.umask(before)


def test_pragmas_of_the_writer(conn: apsw.Connection) -> None:
    found = {
        name: conn.pragma(name)
        for name in (
            "journal_mode",
            "synchronous",
            "foreign_keys",
            "secure_delete",
            "trusted_schema",
        )
    }
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "secure_delete": 1,
        "trusted_schema": 0,
    }
    with conn:
        assert conn.txn_state("main") == apsw.SQLITE_TXN_WRITE


def test_no_extension_can_be_loaded_later(conn: apsw.Connection) -> None:
    import sqlite_vec

    with pytest.raises(apsw.Error):
        conn.load_extension(sqlite_vec.loadable_path())
    with pytest.raises(apsw.SQLError, match="not authorized"):
        conn.execute("SELECT load_extension(?)", (sqlite_vec.loadable_path(),)).fetchall()


def test_shadow_tables_cannot_be_edited(conn: apsw.Connection) -> None:
    for table in ("chunk_fts_data", "chunk_vec_rowids"):
        with pytest.raises(apsw.SQLError, match="may not be modified"):
            conn.execute(f"DELETE FROM {table}")


def test_a_reader_cannot_write(conn: apsw.Connection, store_path: Path) -> None:
    reader = connection.open_reader(store_path)
    assert reader.pragma("busy_timeout") == conn.pragma("busy_timeout") == 5_000
    with pytest.raises(apsw.ReadOnlyError):
        reader.execute("DELETE FROM document")
    reader.close()


def test_a_reader_does_not_create_the_file(tmp_path: Path) -> None:
    with pytest.raises(apsw.CantOpenError):
        connection.open_reader(tmp_path / "absent.db")
    assert list(tmp_path.iterdir()) == []


def test_eight_readers_beside_the_writer_are_never_locked_out(
    conn: apsw.Connection, store_path: Path
) -> None:
    """Each reader sees whole commits only, and sees them grow."""
    finished = threading.Event()
    failures: list[BaseException] = []
    seen = [0] * 8

    def read(number: int) -> None:
        reader = connection.open_reader(store_path)
        try:
            while True:
                last = finished.is_set()
                reader.execute("BEGIN")
                n_chunks = reader.execute("SELECT count(*) FROM chunk").get
                n_terms = reader.execute("SELECT count(*) FROM chunk_fts").get
                assert n_chunks == n_terms
                assert n_chunks >= seen[number]
                assert n_chunks % 10 == 0
                assert len(chunks.fetch(reader, range(1, n_chunks + 1))) == n_chunks
                seen[number] = n_chunks
                reader.execute("COMMIT")
                if last:
                    return
        except BaseException as error:
            failures.append(error)
        finally:
            reader.close()

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for batch in range(30):
        with conn:
            for item in range(5):
                documents.put(conn, make_document(f"one {batch}", f"two {item}"), WRITER, 0)
    finished.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert seen == [300] * 8
