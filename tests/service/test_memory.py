"""The snapshot follows every commit: by advance, by a full load, or writes stop."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from brain_daemon import config
from brain_daemon.errors import StoreDegraded
from brain_daemon.index import load as index_load
from brain_daemon.index import snapshot as index_snapshot
from brain_daemon.model import Principal, StoredChunk
from brain_daemon.policy.rules import ROLES
from brain_daemon.service import writer
from brain_daemon.service.dispatch import Dispatcher
from brain_daemon.service.memory import Memory
from brain_daemon.store import chunks, connection, documents
from tests.protocol.serving import wait_until

CALLER = Principal(name="alice", uid=1000, gid=1000, pid=1, roles=ROLES)


class Desk:
    """A memory without a socket, asked as the protocol would."""

    def __init__(self, store: Path) -> None:
        store.mkdir(exist_ok=True)
        self.memory = Memory(config.load({"store": str(store)}, environ={}))
        self.dispatcher = Dispatcher(self.memory)

    def call(self, method: str, **params: Any) -> Any:
        async def one() -> Any:
            result = self.dispatcher(method, params, CALLER, False)
            return await result if hasattr(result, "__await__") else result

        return asyncio.run(one())

    def found(self, q: str) -> list[str]:
        return [hit["text"] for hit in self.call("recall", q=q, k=100)["hits"]]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "store")
    yield desk
    desk.dispatcher.close()
    desk.memory.close()


def test_index_that_is_mostly_dead_is_loaded_anew(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_snapshot, "_REBUILD_ROWS", 8)
    ids = [desk.call("remember", text=f"heron number {i}")["id"] for i in range(20)]
    for id_ in ids[:15]:
        desk.call("forget", document_id=id_)
    assert desk.memory.snapshot.n_alive == 5
    assert desk.memory.snapshot.n_rows < 15
    assert sorted(desk.found("heron")) == sorted(f"heron number {i}" for i in range(15, 20))
    desk.call("remember", text="heron number 99")
    assert "heron number 99" in desk.found("heron")
    assert desk.call("get", id=ids[15])["text"] == "heron number 15"


def test_in_the_quiet_after_many_writes_the_index_is_put_into_one_piece(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LOG_PAGES", 10)
    ids = [desk.call("remember", text=f"heron number {i}")["id"] for i in range(20)]
    desk.call("forget", document_id=ids[7])
    before = desk.found("heron")
    wait_until(lambda: desk.memory.snapshot.n_stale == 0)
    assert desk.memory.snapshot.postings.n_segments == 1
    assert desk.found("heron") == before
    assert sorted(before) == sorted(f"heron number {i}" for i in range(20) if i != 7)
    desk.call("remember", text="heron number 99")
    assert "heron number 99" in desk.found("heron")


def test_index_that_cannot_advance_is_loaded_anew(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("the changes do not fit")

    desk.call("remember", text="one heron")
    with monkeypatch.context() as patch:
        patch.setattr(index_snapshot.Snapshot, "advance", refuse)
        desk.call("remember", text="two herons")
        assert sorted(desk.found("heron")) == ["one heron", "two herons"]
    desk.call("remember", text="three herons")
    assert len(desk.found("heron")) == 3
    assert desk.call("health")["status"] == "ok"


def test_index_that_can_neither_advance_nor_load_stops_writes_not_reads(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ValueError("no")

    desk.call("remember", text="one heron")
    with monkeypatch.context() as patch:
        patch.setattr(index_snapshot.Snapshot, "advance", refuse)
        patch.setattr(index_load, "load", refuse)
        with pytest.raises(StoreDegraded, match="stored, but"):
            desk.call("remember", text="two herons")
    with pytest.raises(StoreDegraded, match="restart"):
        desk.call("remember", text="three herons")
    assert desk.found("heron") == ["one heron"]
    assert "could not follow" in desk.call("health")["reasons"][0]
    desk.memory.close()
    again = Desk(tmp_path / "store")
    assert sorted(again.found("heron")) == ["one heron", "two herons"]
    again.dispatcher.close()
    again.memory.close()


def test_first_recall_needs_no_new_descriptor(desk: Desk) -> None:
    """Clients may have taken the last one by then."""
    desk.call("remember", text="one heron")
    assert "connection" in vars(desk.memory._readers)


def test_exported_document_is_of_one_moment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its row and its chunks are read one after the other; a revision may come between."""
    desk.call("remember", text="the heron is grey", uri="heron")
    (before,) = desk.call("export")["records"]
    of_document = chunks.of_document

    def revised_meanwhile(conn: apsw.Connection, document_id: int) -> list[StoredChunk]:
        writer = connection.open_writer(desk.memory.database)
        with writer:
            documents.remove(writer, document_id)
        writer.close()
        return of_document(conn, document_id)

    monkeypatch.setattr(chunks, "of_document", revised_meanwhile)
    assert desk.call("export")["records"] == [before]
    assert desk.call("export")["records"] == []


def test_low_disk_is_said_before_it_is_full(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert desk.call("health")["reasons"] == []
    monkeypatch.setattr("brain_daemon.service.health.LOW_SPACE_BYTES", 1 << 62)
    assert "free some space" in desk.call("health")["reasons"][0]
