"""Commands about the daemon: what they print, and their exit codes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from brain_daemon.cli import exits
from brain_daemon.errors import Forbidden, StoreDegraded

Stand = Any

HELLO = {"product": "0.1.0", "protocol": 1, "simd_tier": "avx2", "limits": {}}
STATS = {
    "chunks": 12345,
    "documents": 678,
    "entities": 90,
    "edges": 12,
    "store_bytes": 3 << 20,
    "wal_bytes": 1 << 20,
    "rss_bytes": 80 << 20,
    "uptime_s": 3725.5,
    "model": {"name": "tiny", "dim": 256},
    "by_source": {"vault": 12000, "memory": 345},
}
HEALTH = {"status": "ok", "reasons": [], "free_bytes": 5 << 30}


def test_ping(stand: Stand) -> None:
    stand.answers["ping"] = "pong"
    assert re.fullmatch(r"pong \(\d+\.\d\d ms\)\n", stand.run("ping").stdout)
    assert json.loads(stand.run("ping", "--json").stdout).keys() == {"answer", "took_us"}


@pytest.mark.parametrize("method", ["hello", "stats", "whoami", "reindex"])
def test_answers_are_shown_whatever_their_keys(stand: Stand, method: str) -> None:
    answer = {"new": {"deep_bytes": 2048}, "list": ["a", "b"], "evil": "\x1b[1m[b]"}
    stand.answers[method] = answer
    shown = stand.run(method).stdout
    assert re.search(r"new\.deep_bytes +2\.0 KiB", shown)
    assert re.search(r"list +a, b", shown)
    assert re.search(r"evil +\\x1b\[1m\[b\]", shown)
    assert json.loads(stand.run(method, "--json").stdout) == answer


def test_health_tells_by_its_exit_code(stand: Stand) -> None:
    stand.answers["health"] = lambda params: {"status": "ok", "deep": params.get("deep", False)}
    assert stand.run("health").exit_code == exits.OK
    assert stand.run("health", "--deep").exit_code == exits.OK
    assert stand.params("health") == [{}, {"deep": True}]
    stand.answers["health"] = {"status": "degraded", "reasons": ["the disk is full"]}
    result = stand.run("health")
    assert result.exit_code == exits.NEGATIVE
    assert "the disk is full" in result.stdout


def test_status_at_one_glance(stand: Stand) -> None:
    stand.answers.update(hello=HELLO, stats=STATS, health=HEALTH)
    result = stand.run("status")
    assert result.exit_code == exits.OK
    for text in (
        "brain-daemon 0.1.0, up 1 h 2 min",
        "12,345 chunks of 678 documents",
        "90 entities, 12 relations",
        "3.0 MiB + 1.0 MiB of log",
        "5.0 GiB free",
        "80.0 MiB",
        "tiny, 256 dimensions",
        "avx2",
        str(stand.path),
    ):
        assert text in result.stdout
    document = json.loads(stand.run("status", "--json").stdout)
    assert document == {
        "socket": str(stand.path),
        "hello": HELLO,
        "stats": STATS,
        "health": HEALTH,
    }


def test_status_of_one_memory(stand: Stand) -> None:
    one = dict.fromkeys(("chunks", "documents", "entities", "edges"), 1)
    stand.answers.update(hello=HELLO, stats={**STATS, **one}, health=HEALTH)
    shown = stand.run("status").stdout
    assert "1 chunk of 1 document " in shown
    assert "1 entity, 1 relation " in shown


def test_status_for_who_is_no_operator(stand: Stand) -> None:
    refusal = Forbidden("stats needs the role operator")
    stand.answers.update(hello=HELLO, stats=refusal, health=refusal)
    result = stand.run("status")
    assert result.exit_code == exits.OK
    assert re.search(r"health +answering; more is for operators", result.stdout)
    assert re.search(r"daemon +brain-daemon 0\.1\.0", result.stdout)
    assert json.loads(stand.run("status", "--json").stdout)["stats"] == {}


def test_status_of_a_daemon_that_is_not_well(stand: Stand) -> None:
    stand.answers.update(hello={}, stats={}, health={"status": "degraded", "reasons": ["x", "y"]})
    result = stand.run("status")
    assert result.exit_code == exits.NEGATIVE
    assert "degraded (x; y)" in result.stdout


def test_status_of_a_daemon_without_a_store(stand: Stand) -> None:
    reason = StoreDegraded("the file is damaged")
    degraded = {"status": "degraded", "reasons": ["the file is damaged"]}
    stand.answers.update(hello=reason, stats=reason, health=degraded)
    result = stand.run("status")
    assert result.exit_code == exits.NEGATIVE
    assert "degraded (the file is damaged)" in result.stdout
    assert json.loads(stand.run("status", "--json").stdout)["health"] == degraded
    stand.answers["health"] = Forbidden("health needs the role operator")
    refused = stand.run("status")
    assert (refused.exit_code, "the file is damaged" in refused.stderr) == (exits.REFUSED, True)


def test_config_shows_values_as_they_are_written(stand: Stand) -> None:
    stand.answers["config"] = {
        "settings": [
            {"name": "max_message_bytes", "value": 8388608, "source": "default", "help": "Most."},
            {"name": "recall_graph_enabled", "value": False, "source": "environment", "help": ""},
            {"name": "socket", "value": "", "source": "default", "help": "Path."},
        ]
    }
    shown = stand.run("config").stdout
    assert re.search(r"max_message_bytes +8388608 +default +Most\.", shown)
    assert re.search(r"recall_graph_enabled +false +environment", shown)
    assert re.search(r'socket +"" +default', shown)


def test_compact_shows_both_sizes(stand: Stand) -> None:
    stand.answers["compact"] = {"before_bytes": 2048, "after_bytes": 1024}
    assert stand.run("compact").stdout == "compacted: 2.0 KiB → 1.0 KiB\n"


def test_backup_sends_an_absolute_path(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stand.answers["backup"] = {"path": "x", "bytes": 10, "sha256": "00", "chunks": 1}
    stand.run("backup", "b.db")
    stand.run("backup", "b.db", "--overwrite")
    path = str(tmp_path / "b.db")
    assert stand.params("backup") == [{"path": path}, {"path": path, "overwrite": True}]
