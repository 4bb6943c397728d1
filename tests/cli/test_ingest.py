"""``brain ingest`` against a server that keeps documents the way the daemon does."""

import hashlib
import json
import os
import socket
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from brain_daemon.cli import exits, ingest
from brain_daemon.cli.main import cli
from brain_daemon.errors import BadRequest, NotFound
from brain_daemon.protocol.framing import INCOMPLETE, Framer
from brain_daemon.protocol.messages import Encoder

Stand = Any


class Documents:
    """URI and content of what was ingested; answers the methods that ``brain ingest`` calls."""

    def __init__(self, stand: Stand) -> None:
        self.stored: dict[str, dict[str, Any]] = {}
        self._last_id = 0
        stand.answers["ingest_markdown"] = self.put
        stand.answers["documents"] = self.page
        stand.answers["forget"] = self.forget

    def put(self, params: dict[str, Any]) -> Any:
        if "poison" in params["content"]:
            return BadRequest("content is not accepted\x1b")
        digest = hashlib.sha256(params["content"].encode()).hexdigest()
        known = self.stored.get(params["uri"])
        unchanged = known is not None and known["digest"] == digest
        if not params.get("dry_run") and not unchanged:
            self._last_id += 1
            self.stored[params["uri"]] = {
                "document_id": known["document_id"] if known else self._last_id,
                "uri": params["uri"],
                "source": params["source"],
                "digest": digest,
            }
        return {"id": 1, "created": known is None, "unchanged": unchanged, "chunk_ids": [1, 2]}

    def page(self, params: dict[str, Any]) -> dict[str, Any]:
        rows = sorted(
            (d for uri, d in self.stored.items() if uri.startswith(params["uri_prefix"])),
            key=lambda document: document["document_id"],
        )
        page = [d for d in rows if d["document_id"] > params.get("after", 0)][:2]
        return {"documents": page, "next": page[-1]["document_id"] if len(page) == 2 else None}

    def forget(self, params: dict[str, Any]) -> Any:
        for uri, document in self.stored.items():
            if document["document_id"] == params["document_id"]:
                del self.stored[uri]
                return {"document_ids": [params["document_id"]], "chunk_ids": [1]}
        return NotFound("gone already")


@pytest.fixture
def kept(stand: Stand) -> Documents:
    return Documents(stand)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    for name in ("a.md", "b.md", "sub/c.md", "sub/d.txt"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n\nAbout {name}.\n")
    return folder.resolve()


def run(stand: Stand, *arguments: object, code: int = exits.OK) -> dict[str, Any]:
    """Give the counts that are not zero, and the files by status."""
    result = stand.run("ingest", *map(str, arguments), "--json")
    assert result.exit_code == code, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    assert Counter(file["status"] for file in report["files"]) == Counter(report["counts"])
    report["counts"] = {status: n for status, n in report["counts"].items() if n}
    return report


def test_a_vault_then_what_changed_then_nothing(stand: Stand, kept: Documents, vault: Path) -> None:
    report = run(stand, vault)
    assert report["counts"] == {"new": 4}
    assert report["chunks"] == 8
    assert [file["uri"] for file in report["files"]] == [
        (vault / name).as_uri() for name in ("a.md", "b.md", "sub/c.md", "sub/d.txt")
    ]
    assert {document["source"] for document in kept.stored.values()} == {"vault"}
    (vault / "b.md").write_text("another text")
    assert run(stand, vault)["counts"] == {"changed": 1, "unchanged": 3}
    assert run(stand, vault)["counts"] == {"unchanged": 4}


def test_the_content_is_sent_verbatim_with_its_tags(
    stand: Stand, kept: Documents, vault: Path
) -> None:
    (vault / "a.md").write_bytes(b"\xef\xbb\xbf# T\r\n")
    run(stand, vault / "a.md", "--domain", "work", "--access-scope", "team")
    assert stand.params("ingest_markdown") == [
        {
            "content": "# T\r\n",
            "uri": (vault / "a.md").as_uri(),
            "source": "markdown",
            "domain": "work",
            "access_scope": "team",
        }
    ]


def test_one_path_given_twice_is_sent_once(stand: Stand, kept: Documents, vault: Path) -> None:
    assert run(stand, vault, vault / "sub", vault / "a.md")["counts"] == {"new": 4}
    assert len(stand.params("ingest_markdown")) == 4


def test_one_bad_file_does_not_stop_the_rest(stand: Stand, kept: Documents, vault: Path) -> None:
    (vault / "0-binary.md").write_bytes(b"\xff\xfe\x00")
    (vault / "1-large.md").write_text("x" * (1 << 20))
    (vault / "2-poison.md").write_text("poison")
    (vault / "3-empty.md").write_text(" \n\n")
    (vault / "4-broken.md").symlink_to("nowhere")
    report = run(stand, vault, code=exits.NEGATIVE)
    assert report["counts"] == {"new": 4, "empty": 1, "failed": 4}
    reasons = {Path(f["path"]).name: f["reason"] for f in report["files"]}
    assert reasons["0-binary.md"] == "not UTF-8 text (byte 0)"
    assert reasons["1-large.md"].startswith("1048576 bytes; the daemon takes ")
    assert reasons["2-poison.md"] == "content is not accepted\x1b"
    assert reasons["4-broken.md"] == "No such file or directory"
    shown = stand.run("ingest", str(vault)).stdout
    assert f"failed  {vault}/2-poison.md: content is not accepted\\x1b\n" in shown


def test_vanished_notes_are_reported_and_stay(stand: Stand, kept: Documents, vault: Path) -> None:
    run(stand, vault)
    (vault / "a.md").unlink()
    (vault / "sub" / "c.md").unlink()
    report = run(stand, vault)
    assert report["counts"] == {"unchanged": 2, "vanished": 2}
    assert len(kept.stored) == 4
    assert "forget them with --prune" in stand.run("ingest", str(vault)).stdout


def test_prune_forgets_what_vanished_and_nothing_else(
    stand: Stand, kept: Documents, vault: Path, tmp_path: Path
) -> None:
    sibling = tmp_path / "vault-2"
    sibling.mkdir()
    (sibling / "z.md").write_text("z")
    run(stand, vault, sibling)
    kept.put({"uri": "memory:1", "content": "m", "source": "memory"})
    (vault / "a.md").unlink()
    (sibling / "z.md").unlink()
    report = run(stand, vault, "--prune")
    assert report["counts"] == {"unchanged": 3, "forgotten": 1}
    assert (vault / "a.md").as_uri() not in kept.stored
    assert {(sibling / "z.md").as_uri(), "memory:1"} < set(kept.stored)


def test_prune_takes_ignored_and_emptied_notes_too(
    stand: Stand, kept: Documents, vault: Path
) -> None:
    run(stand, vault)
    (vault / ".brainignore").write_text("sub/\n")
    (vault / "a.md").write_text("")
    report = run(stand, vault, "--prune")
    assert report["counts"] == {"unchanged": 1, "empty": 1, "forgotten": 3}
    assert {f["reason"] for f in report["files"] if f["status"] == "forgotten"} == {
        "left out",
        "empty now",
    }
    assert set(kept.stored) == {(vault / "b.md").as_uri()}


def test_prune_spares_a_file_that_was_named_outright(
    stand: Stand, kept: Documents, vault: Path
) -> None:
    (vault / "code.py").write_text("print()")
    run(stand, vault / "code.py")
    run(stand, vault, "--prune")
    assert (vault / "code.py").as_uri() in kept.stored


def test_prune_of_a_failed_note_keeps_what_is_stored(
    stand: Stand, kept: Documents, vault: Path
) -> None:
    run(stand, vault)
    (vault / "a.md").write_bytes(b"\xff")
    (vault / "sub" / ".brainignore").write_bytes(b"\xff")
    report = run(stand, vault, "--prune", code=exits.NEGATIVE)
    assert report["counts"] == {"unchanged": 1, "failed": 2}
    assert len(kept.stored) == 4


def test_prune_refuses_to_empty_a_whole_folder(stand: Stand, kept: Documents, vault: Path) -> None:
    run(stand, vault)
    for path in list(vault.rglob("*.*")):
        path.unlink()
    report = run(stand, vault, "--prune", code=exits.NEGATIVE)
    assert report["counts"] == {"failed": 1}
    assert "nothing was pruned" in report["files"][0]["reason"]
    assert len(kept.stored) == 4
    assert run(stand, vault)["counts"] == {"vanished": 4}


def test_a_dry_run_changes_nothing(stand: Stand, kept: Documents, vault: Path) -> None:
    run(stand, vault / "a.md", vault / "b.md")
    (vault / "b.md").write_text("changed")
    (vault / "a.md").unlink()
    before = dict(kept.stored)
    report = run(stand, vault, "--prune", "--dry-run")
    assert report["counts"] == {"new": 2, "changed": 1, "vanished": 1}
    assert report["dry_run"]
    assert kept.stored == before
    assert stand.params("forget") == []
    assert "dry run: nothing was stored" in stand.run("ingest", str(vault), "--dry-run").stdout


def test_an_ignore_file_from_the_command_line(
    stand: Stand, kept: Documents, vault: Path, tmp_path: Path
) -> None:
    rules = tmp_path / "rules"
    rules.write_text("sub/\n")
    assert run(stand, vault, "--ignore-file", rules)["counts"] == {"new": 2}
    rules.write_bytes(b"\xff")
    result = stand.run("ingest", str(vault), "--ignore-file", str(rules))
    assert result.exit_code == exits.LOCAL_FILE
    assert result.stderr.startswith(f"brain: {rules}: ")


def test_many_notes_are_in_flight_and_keep_their_order(
    stand: Stand, kept: Documents, tmp_path: Path
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    names = [f"{i:03}.md" for i in range(3 * ingest.IN_FLIGHT)]
    for name in names:
        (folder / name).write_text("poison" if name.endswith("7.md") else name)
    report = run(stand, folder, code=exits.NEGATIVE)
    assert [Path(file["path"]).name for file in report["files"]] == names
    failed = [Path(f["path"]).name for f in report["files"] if f["status"] == "failed"]
    assert failed == [name for name in names if name.endswith("7.md")]


def test_the_summary_is_one_line_of_counts(stand: Stand, kept: Documents, vault: Path) -> None:
    assert stand.run("ingest", str(vault)).stdout == "4 new · 8 chunks stored\n"


def test_a_daemon_that_goes_away_ends_the_ingest(tmp_path: Path, vault: Path) -> None:
    path = tmp_path / "brain.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.fspath(path))
    listener.listen()

    def say_hello_and_go() -> None:
        with listener, listener.accept()[0] as connection:
            framer = Framer(1 << 20, 32, 1000)
            while (call := framer.next()) is INCOMPLETE:
                framer.feed(connection.recv(1 << 16))
            connection.sendall(Encoder().response(call[1], None, {}))
            connection.recv(1)
            path.unlink()

    server = threading.Thread(target=say_hello_and_go)
    server.start()
    command = ["--socket", os.fspath(path), "ingest", os.fspath(vault)]
    result = CliRunner().invoke(cli, command, prog_name="brain")
    server.join()
    assert result.exit_code == exits.UNREACHABLE
    assert result.stdout == ""
    assert result.stderr.startswith("brain: ")
    assert result.stderr.count("\n") == 1
