"""The commands against the real daemon, each as a person would type it."""

import json
from pathlib import Path
from typing import Any

import pytest

from brain_daemon.cli import exits

NOTES = {
    "people/ana.md": (
        "---\ntags: [people]\n---\n# Ana\n\nAna moved to Lisbon in May.\n\n"
        "## Work\n\nShe repairs [[repairs::harpsichords]] in a workshop by the river.\n"
    ),
    "garden.md": "# Garden\n\nThe quince tree was pruned in March; it bears fruit in October.\n",
    "servers.txt": "Backups of the file server run at 03:30 with --error-on-warnings.\n",
    ".obsidian/workspace.md": "quince quince quince",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    for name, text in NOTES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder.resolve()


def ask(daemon: Any, *arguments: object, code: int = exits.OK) -> Any:
    """Run a command with --json and give its document."""
    done = daemon.cli(*map(str, arguments), "--json", check=False)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def counts(report: dict[str, Any]) -> dict[str, int]:
    return {status: n for status, n in report["counts"].items() if n}


def test_a_vault_comes_in_changes_and_goes(daemon: Any, vault: Path) -> None:
    assert counts(ask(daemon, "ingest", vault, "--dry-run")) == {"new": 3}
    assert ask(daemon, "stats")["chunks"] == 0
    assert counts(ask(daemon, "ingest", vault)) == {"new": 3}
    first = ask(daemon, "recall", "When is the quince pruned?")["hits"][0]
    assert first["uri"] == (vault / "garden.md").as_uri()
    assert first["source"] == "vault"
    assert counts(ask(daemon, "ingest", vault)) == {"unchanged": 3}

    (vault / "garden.md").write_text("# Garden\n\nThe medlar was grafted.\n", encoding="utf-8")
    (vault / "servers.txt").unlink()
    before = ask(daemon, "ingest", vault, "--dry-run", "--prune")
    assert counts(before) == {"changed": 1, "unchanged": 1, "vanished": 1}
    report = ask(daemon, "ingest", vault, "--prune")
    assert counts(report) == {"changed": 1, "unchanged": 1, "forgotten": 1}
    hits = ask(daemon, "recall", "medlar")["hits"]
    assert hits[0]["uri"] == (vault / "garden.md").as_uri()
    assert hits[0]["revision"] == 2
    everything = ask(daemon, "recall", "Ana quince backups", "--k", 50)["hits"]
    assert not [hit for hit in everything if "quince" in hit["text"] or "03:30" in hit["text"]]


def test_recall_shows_the_reasons(daemon: Any, vault: Path) -> None:
    daemon.cli("ingest", str(vault))
    shown = daemon.cli("recall", "Where did Ana move?", "--explain").stdout
    assert " 1. Ana\n" in shown
    assert "ana.md:" in shown
    assert "Ana moved to Lisbon in May." in shown
    assert "lexical #1 bm25 " in shown
    assert "chunks visible" in shown
    assert "1/61" in shown
    assert "graph skipped" in daemon.cli("recall", "Ana", "--no-graph").stdout
    option = daemon.cli("recall", "--error-on-warnings", "--k", "1").stdout
    assert "servers.txt" in option


def test_an_abstention_shows_what_each_leg_had(daemon: Any, vault: Path) -> None:
    daemon.cli("ingest", str(vault))
    asked = ["recall", "Who is Gustav's dentist in Helsinki?"]
    shown = daemon.cli(*asked, "--explain", check=False).stdout
    assert shown.startswith("Nothing found: confidence 0.")
    assert "What each leg listed first: chunk and raw score" in shown
    assert "names_missing" in shown
    assert "listed first" not in daemon.cli(*asked, check=False).stdout


def test_filters_reach_the_daemon(daemon: Any, vault: Path) -> None:
    daemon.cli("ingest", str(vault), "--domain", "notes")
    daemon.cli("remember", "The quince jam is in the cellar.", "--domain", "kitchen")
    by_domain = ask(daemon, "recall", "quince", "--domain", "kitchen")["hits"]
    assert {hit["domain"] for hit in by_domain} == {"kitchen"}
    by_source = ask(daemon, "recall", "quince", "--source", "vault")["hits"]
    assert {hit["source"] for hit in by_source} == {"vault"}
    nothing = ask(daemon, "recall", "quince", "--until", "2001-01-01", code=exits.NEGATIVE)
    assert nothing["hits"] == []
    assert daemon.cli("recall", "x", "--since", "2026-02-30", check=False).returncode == 2


def test_one_memory_from_birth_to_death(daemon: Any) -> None:
    born = ask(daemon, "remember", "The boiler was serviced in May.", "--title", "Boiler")
    assert born["created"]
    (chunk_id,) = born["chunk_ids"]
    assert "The boiler was serviced in May." in daemon.cli("get", str(chunk_id)).stdout
    again = ask(daemon, "remember", "The boiler burst.", "--uri", born["uri"])
    assert not again["created"]
    gone = ask(daemon, "forget", again["uri"])
    assert gone["chunk_ids"] == again["chunk_ids"]
    assert daemon.cli("get", str(chunk_id), check=False).returncode == exits.NEGATIVE
    assert daemon.cli("forget", "999", check=False).returncode == exits.NEGATIVE


def test_hostile_memory_text_never_reaches_the_terminal(daemon: Any) -> None:
    text = "quince \x1b[2J\x9b31m[bold]x[/bold]\u202e\x07 tree"
    daemon.cli("remember", "-", "--title", "\x1b]0;owned\x07", input=text)
    (hit,) = ask(daemon, "recall", "quince")["hits"]
    assert hit["text"] == text
    for command in (["recall", "quince", "--explain"], ["get", "1"], ["export"]):
        shown = daemon.cli(*command).stdout
        assert not set(shown) & set("\x1b\x9b\u202e\x07"), command
    assert "[bold]x[/bold]" in daemon.cli("recall", "quince").stdout


def test_each_administrative_command(daemon: Any) -> None:
    daemon.cli("remember", "The quince tree bears fruit.")
    for command in (
        *(["ping"], ["hello"], ["whoami"], ["stats"], ["status"], ["config"]),
        *(["health", "--deep"], ["doctor", "--deep"], ["reindex"], ["compact"]),
    ):
        assert daemon.cli(*command).stdout, command
        assert ask(daemon, *command), command
    assert ask(daemon, "recall", "quince")["hits"]


def test_backup_never_replaces_a_file_unasked(daemon: Any, tmp_path: Path) -> None:
    daemon.cli("remember", "The quince tree bears fruit.")
    target = str(tmp_path / "copy.db")
    assert ask(daemon, "backup", target)["path"] == target
    assert Path(target).read_bytes().startswith(b"SQLite format 3\0")
    assert daemon.cli("backup", target, check=False).returncode != exits.OK
    daemon.cli("backup", target, "--overwrite")


def test_what_was_exported_can_be_imported_again(daemon: Any, vault: Path, tmp_path: Path) -> None:
    daemon.cli("ingest", str(vault))
    target = tmp_path / "all.ndjson"
    ask(daemon, "export", "--output", target)
    question = ("recall", "Who repairs harpsichords?")
    before = ask(daemon, *question)["hits"]
    assert ask(daemon, "import", target)["unchanged"] == 3
    for hit in ask(daemon, "recall", "ana quince server", "--k", 50)["hits"]:
        daemon.cli("forget", "--document", str(hit["document_id"]), check=False)
    assert ask(daemon, "stats")["chunks"] == 0
    assert ask(daemon, "import", target)["created"] == 3
    after = ask(daemon, *question)["hits"]
    assert [(hit["uri"], hit["text"], hit["score"]) for hit in after] == [
        (hit["uri"], hit["text"], hit["score"]) for hit in before
    ]


def test_a_daemon_that_was_killed_is_told_and_doctor_knows(daemon: Any) -> None:
    daemon.kill()
    assert daemon.cli("ping", check=False).returncode == exits.UNREACHABLE
    checks = ask(daemon, "doctor", code=exits.NEGATIVE)["checks"]
    found = {check["name"]: check for check in checks}
    assert "stale socket" in found["daemon"]["detail"]
    daemon.start()
    assert ask(daemon, "doctor")["ok"]
