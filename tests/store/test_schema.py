from pathlib import Path

import apsw
import pytest

from brain_daemon.errors import ModelMismatch, SchemaTooNew, StoreDegraded
from brain_daemon.store import connection, meta, schema

from .samples import model_facts


def test_prepare_creates_a_store_and_accepts_it_again(conn: apsw.Connection) -> None:
    assert schema.version(conn) == schema.SCHEMA_VERSION
    assert conn.pragma("application_id") == schema.APPLICATION_ID
    before = conn.total_changes()
    schema.prepare(conn, **model_facts())
    assert conn.total_changes() == before
    assert meta.read(conn, "model_name") == "tiny"
    assert meta.read(conn, "no such fact") is None


def test_tables_are_strict(conn: apsw.Connection) -> None:
    with pytest.raises(apsw.ConstraintError):
        conn.execute("INSERT INTO entity(key, name, kind) VALUES (x'00', 'a', 'span')")


def test_a_newer_schema_is_refused_and_left_alone(conn: apsw.Connection) -> None:
    conn.pragma("user_version", schema.SCHEMA_VERSION + 1)
    with pytest.raises(
        SchemaTooNew, match=f"schema {schema.SCHEMA_VERSION + 1}.*upgrade"
    ) as caught:
        schema.prepare(conn, **model_facts())
    assert caught.value.detail == {
        "found": schema.SCHEMA_VERSION + 1,
        "supported": schema.SCHEMA_VERSION,
    }
    assert schema.version(conn) == schema.SCHEMA_VERSION + 1


@pytest.mark.parametrize("statement", ["CREATE TABLE theirs(x)", "PRAGMA application_id = 7"])
def test_a_foreign_database_is_refused(store_path: Path, statement: str) -> None:
    conn = connection.open_writer(store_path)
    conn.execute(statement)
    with pytest.raises(StoreDegraded, match="another program"):
        schema.prepare(conn, **model_facts())
    assert not conn.execute("SELECT 1 FROM sqlite_schema WHERE name = 'chunk'").fetchall()
    conn.close()


def test_a_failed_migration_leaves_the_version_before_it(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def second(conn: apsw.Connection) -> None:
        conn.execute("CREATE TABLE half(x)")
        raise apsw.FullError("disk full")

    last = schema.SCHEMA_VERSION
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, second))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", last + 1)
    conn = connection.open_writer(store_path)
    with pytest.raises(apsw.FullError):
        schema.migrate(conn)
    assert schema.version(conn) == last
    assert not conn.execute("SELECT 1 FROM sqlite_schema WHERE name = 'half'").fetchall()
    conn.close()


def test_an_older_schema_is_migrated_step_by_step(
    conn: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def second(conn: apsw.Connection) -> None:
        conn.execute("CREATE TABLE added(x)")

    last = schema.SCHEMA_VERSION
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, second))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", last + 1)
    assert schema.migrate(conn) == last
    assert schema.version(conn) == last + 1
    assert conn.execute("SELECT count(*) FROM added").get == 0


@pytest.mark.parametrize(
    "other",
    [
        {"model_fingerprint": "e" * 64, "model_name": "other"},
        {"model_fingerprint": "e" * 64, "model_name": "other", "dim": 128},
        {"dim": 128},
    ],
)
def test_another_model_is_refused_with_the_cure(conn: apsw.Connection, other: dict) -> None:
    with pytest.raises(ModelMismatch) as caught:
        schema.prepare(conn, **model_facts(**other))
    message = str(caught.value)
    assert "tiny" in message
    assert other.get("model_name", "tiny") in message
    assert "brain-daemon reembed --store DIR --model PATH" in message
    assert caught.value.detail["stored"]["dim"] == "64"
    schema.prepare(conn, **model_facts())


@pytest.mark.parametrize("other", [{"analyzer_version": 999}, {"language": "german"}])
def test_another_analyser_is_signalled(conn: apsw.Connection, other: dict) -> None:
    with pytest.raises(schema.StaleTerms) as caught:
        schema.prepare(conn, **model_facts(**other))
    name, value = next(iter(other.items()))
    assert caught.value.detail["given"][name] == str(value)


@pytest.mark.parametrize("dim", [0, -64, 1, 63, 65, 100])
def test_a_dimension_that_is_no_multiple_of_64_makes_no_store(store_path: Path, dim: int) -> None:
    conn = connection.open_writer(store_path)
    with pytest.raises(ValueError, match="multiple of 64"):
        schema.prepare(conn, **model_facts(dim=dim))
    schema.prepare(conn, **model_facts())
    conn.close()
