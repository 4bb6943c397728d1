"""Requests that a careless or hostile client sends: each is refused by name and leaves no trace."""

import copy
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest

from brain_daemon.client import Client
from brain_daemon.errors import BadRequest, BrainError, Conflict, NotFound
from tests.daemon_process import Daemon


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One daemon for all cases: it has to survive each of them."""
    daemon = Daemon(tmp_path_factory.mktemp("hostile") / "d").start()
    yield daemon
    assert daemon.stop() == 0
    assert "failed" not in daemon.log.read_text()  # no internal error


@pytest.fixture
def client(target: Daemon) -> Iterator[Client]:
    with target.client() as connected:
        yield connected
        assert connected.health(deep=True)["reasons"] == []


@pytest.fixture
def record(client: Client) -> dict[str, Any]:
    """A sound record of an export."""
    client.remember("Ana moved to Lisbon", uri="sound", relations=[ANA], thread="moves", seq=3)
    records = client.call("export")["records"]
    return copy.deepcopy(next(record for record in records if record["uri"] == "sound"))


ANA = {"subject": "Ana", "relation": "moved to", "object": "Lisbon"}


@pytest.mark.parametrize(
    ("change", "of_chunk"),
    [
        ({"chunks": []}, {}),
        ({"domain": ""}, {}),
        ({"domain": "d" * 129}, {}),
        ({"owner": ""}, {}),
        ({"owner": "o" * 257}, {}),
        ({"uri": "u" * 4097}, {}),
        ({"title": "t" * 4097}, {}),
        ({"thread": ""}, {}),
        ({"seq": -1}, {}),
        ({"revision": 0}, {}),
        ({"content_hash": "0" * 63}, {}),
        ({"created_at": "9999-12-31T23:59:59-00:01"}, {}),
        ({"stored_at": "yesterday"}, {}),
        ({"source": "elsewhere"}, {}),
        ({"writer": {"uid": -1, "pid": 1, "name": "x"}}, {}),
        ({"surplus": 1}, {}),
        ({}, {"text": ""}),
        ({}, {"text": "x" * 65_537}),
        ({}, {"lines": [0, 1]}),
        ({}, {"lines": [1, 2, 3]}),
        ({}, {"heading_path": ["h"] * 65}),
        ({}, {"heading_path": ["h" * 4097]}),
        ({}, {"mentions": ["stranger:Ana"]}),
        ({}, {"mentions": ["title:" + "x" * 4097]}),
        ({}, {"relations": [["a", "b"]]}),
        ({}, {"relations": [["a", "b", "c" * 4097]]}),
    ],
)
def test_unfit_record_is_refused_and_none_of_its_batch_is_stored(
    client: Client, record: dict[str, Any], change: dict[str, Any], of_chunk: dict[str, Any]
) -> None:
    bad = {**record, "uri": "bad", **change}
    bad["chunks"] = [{**chunk, **of_chunk} for chunk in bad["chunks"]]
    with pytest.raises(BadRequest):
        client.call("import", records=[{**record, "uri": "neighbour"}, bad])
    assert not client.call("documents", uri_prefix="neighbour")["documents"]
    assert client.call("export")["records"]


def test_odd_names_of_entities_do_no_harm(client: Client, record: dict[str, Any]) -> None:
    names = ["\x1f", "\n", "\0", " ", "!!!", "#", "a\x1fb", "a\nb", "\u200b", "\u202ex", "x" * 200]
    record["uri"] = "odd"
    record["chunks"][0]["mentions"] = [f"explicit:x{name}" for name in names]
    record["chunks"][0]["relations"] = [[name, name, name] for name in names]
    assert client.call("import", records=[record])["created"] == 1
    client.remember("odd as well", entities=[name for name in names if name])
    assert client.recall("Ana Lisbon")["hits"]
    assert client.call("forget", uri="odd")["chunk_ids"]


@pytest.mark.parametrize("path", ["", "relative", "/nul\0", "/" + "x" * 300, "/proc/copy", "/"])
def test_unfit_backup_path_is_a_bad_request(client: Client, path: str) -> None:
    with pytest.raises(BadRequest):
        client.call("backup", path=path, overwrite=True)


def test_backup_never_replaces_the_lock(target: Daemon, client: Client) -> None:
    for path in (target.store / "lock", target.store / "brain.db", target.store / "new.db"):
        with pytest.raises(BadRequest):
            client.call("backup", path=str(path), overwrite=True)
    assert (target.store / "lock").read_text() == f"{target.pid}\n"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("remember", {"text": "told in passing"}),
        ("forget", {"uri": "sound"}),
        ("compact", {}),
        ("reindex", {}),
        ("import", {"records": []}),
        ("backup", None),
    ],
)
def test_what_changes_anything_is_no_notification(
    target: Daemon, client: Client, tmp_path: Path, method: str, params: dict[str, Any] | None
) -> None:
    client.remember("Ana moved to Lisbon", uri="sound")
    copy_path = tmp_path / "copy.db"
    before = client.stats()["commits"]
    given = {"path": str(copy_path)} if params is None else params
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(str(target.socket))
        other.sendall(msgpack.packb([2, method, [given]]) + msgpack.packb([0, 1, "ping", []]))
        assert msgpack.unpackb(other.recv(4096)) == [1, 1, None, "pong"]
    assert client.stats()["commits"] == before
    assert not copy_path.exists()


def test_same_uri_in_two_domains(client: Client) -> None:
    client.remember("the ferry leaves at noon", uri="same", domain="port")
    client.remember("the train leaves at noon", uri="same", domain="station")
    with pytest.raises(BrainError):
        client.call("forget", uri="same", id=1)
    forgotten = client.call("forget", uri="same")
    assert len(forgotten["document_ids"]) == 2
    with pytest.raises(NotFound):
        client.call("forget", uri="same")


def test_expired_memory_is_hidden_yet_can_be_forgotten(client: Client) -> None:
    (id_,) = client.remember("the walrus is asleep", expires_at="2001-01-01")["chunk_ids"]
    with pytest.raises(NotFound):
        client.call("get", id=id_)
    assert client.call("multi_get", ids=[id_, id_])["missing"] == [id_, id_]
    assert client.call("forget", id=id_)["chunk_ids"] == [id_]
    with pytest.raises(NotFound):
        client.call("forget", id=id_)


def test_existing_backup_is_a_conflict(client: Client, tmp_path: Path) -> None:
    client.call("backup", path=str(tmp_path / "copy.db"))
    with pytest.raises(Conflict):
        client.call("backup", path=str(tmp_path / "copy.db"))
