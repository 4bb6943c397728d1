"""`brain audit`: verdicts and records, and the check of a copy without a daemon."""

import json
from pathlib import Path
from typing import Any

import pytest

from brain_daemon.audit.log import AuditLog
from brain_daemon.cli import exits

Stand = Any
RECORD = {
    "seq": 7, "at": "2026-05-01T12:00:00Z", "event": "forget", "by": "ev\x1b[1mil",
    "chunk_ids": [3, 4], "prev": "0" * 64, "hash": "1" * 64,
}  # fmt: skip


def test_verify_tells_by_its_exit_code(stand: Stand) -> None:
    verdict = {"ok": True, "records": 3, "head": f"3:{'a' * 64}", "findings": [], "path": "/s/a"}
    stand.answers["audit.verify"] = verdict
    result = stand.run("audit", "verify")
    assert result.exit_code == exits.OK
    assert result.stdout == f"/s/a is whole: 3 records\nhead 3:{'a' * 64}\n"
    assert json.loads(stand.run("audit", "verify", "--json").stdout) == verdict
    stand.answers["audit.verify"] = verdict | {"ok": False, "findings": ["line 2 was changed"]}
    result = stand.run("audit", "verify", "--head", f"2:{'b' * 64}")
    assert result.exit_code == exits.NEGATIVE
    assert "line 2 was changed\n/s/a is not whole" in result.stdout
    assert stand.params("audit.verify")[-1] == {"head": f"2:{'b' * 64}"}


def test_a_copy_is_checked_without_a_daemon(stand: Stand, tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    audit = AuditLog(path)
    audit.append("a")
    audit.append("b")
    head = str(audit.head)
    audit.close()
    result = stand.run("audit", "verify", "--file", str(path), "--head", head)
    assert (result.exit_code, f"head {head}" in result.stdout) == (exits.OK, True)
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    assert stand.run("audit", "verify", "--file", str(path)).exit_code == exits.OK
    result = stand.run("audit", "verify", "--file", str(path), "--head", head, "--json")
    assert result.exit_code == exits.NEGATIVE
    assert "1 were cut off" in json.loads(result.stdout)["findings"][0]
    assert stand.calls == []
    absent = stand.run("audit", "verify", "--file", str(tmp_path / "absent"))
    assert absent.exit_code == exits.LOCAL_FILE
    assert stand.run("audit", "verify", "--file", str(path), "--head", "x").exit_code == exits.USAGE


def test_records_are_shown_safely(stand: Stand) -> None:
    stand.answers["audit.list"] = {"records": [RECORD], "next": 7}
    shown = stand.run("audit", "show", "--after", "6", "--limit", "1").stdout
    assert r"7  2026-05-01T12:00:00Z  forget  by=ev\x1b[1mil  chunk_ids=[3, 4]" in shown
    assert "more: brain audit show --after 7" in shown
    assert stand.params("audit.list") == [{"after": 6, "limit": 1}]
    stand.run("audit", "show")
    stand.run("audit", "tail")
    assert stand.params("audit.list")[1:] == [{"after": 0}, {}]
    assert json.loads(stand.run("audit", "tail", "--json").stdout)["records"][0]["seq"] == 7


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["burn"], ["verify", "--limit", "3"], ["verify", "--after", "3"],
        ["tail", "--after", "3"], ["tail", "--head", "x"], ["show", "--file", "x"],
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_told(stand: Stand, arguments: list[str]) -> None:
    assert stand.run("audit", *arguments).exit_code == exits.USAGE
