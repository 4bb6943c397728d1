"""``brain restore`` is refused while a daemon has the store, and brings it back once it ended."""

import json
from pathlib import Path

from brain_daemon.cli import exits
from tests.daemon_process import Daemon


def test_restore_waits_for_no_daemon_and_brings_the_store_back(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "d").start()
    copy = tmp_path / "copy.db"
    with daemon.client() as client:
        client.remember("The lighthouse is open in May")
        client.backup(str(copy))
        client.remember("A xylophone came later")
    refused = daemon.cli("restore", str(copy), "--store", str(daemon.store), check=False)
    assert refused.returncode == exits.REFUSED
    assert f"pid {daemon.pid}" in refused.stderr
    assert daemon.stop() == 0

    database = daemon.store / "brain.db"
    content = bytearray(database.read_bytes())
    content[5000] ^= 1
    database.write_bytes(content)
    unfit = daemon.cli("restore", str(database), "--store", str(daemon.store), check=False)
    assert unfit.returncode == exits.REFUSED
    assert "not sound" in unfit.stderr
    assert database.read_bytes() == content

    done = daemon.cli("restore", str(copy), "--store", str(daemon.store), "--json")
    record = json.loads(done.stdout)
    assert record["documents"] == 1
    assert (Path(record["kept"]) / "brain.db").read_bytes() == content
    daemon.start()
    with daemon.client() as client:
        told = [r for r in client.call("audit.list", after=0)["records"] if r["event"] == "restore"]
        assert [record["step"] for record in told] == ["begun", "failed", "begun", "done"]
        assert (told[1]["error"], told[3]["of"]) == ("StoreDegraded", told[2]["seq"])
        assert (told[2]["path"], told[3]["kept"], told[3]["documents"]) == (
            str(copy), record["kept"], 1,
        )  # fmt: skip
        assert client.call("audit.verify")["ok"]
        texts = [hit["text"] for hit in client.recall("lighthouse xylophone")["hits"]]
        assert texts == ["The lighthouse is open in May"]
    assert daemon.stop() == 0
    again = daemon.cli("restore", str(copy), "--store", str(daemon.store))
    assert "1 documents, 1 chunks" in again.stdout
    assert "start the daemon" in again.stdout
