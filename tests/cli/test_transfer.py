"""``export`` and ``import``: pages in, pages out, and what goes wrong in between."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from brain_daemon.cli import exits, transfer
from brain_daemon.errors import BadRequest, InternalError

Stand = Any

RECORDS = [{"uri": f"memory:{i}", "text": f"tëxt {i} \x1b\u2028"} for i in range(7)]


def pages(params: dict[str, Any]) -> dict[str, Any]:
    first = params.get("after", 0)
    page = RECORDS[first : first + 3]
    return {"records": page, "next": first + 3 if first + 3 < len(RECORDS) else None}


def test_export_writes_every_page_as_lines(stand: Stand) -> None:
    stand.answers["export"] = pages
    result = stand.run("export")
    assert [json.loads(line) for line in result.stdout.split("\n")[:-1]] == RECORDS
    assert "\x1b" not in result.stdout
    assert [params.get("after") for params in stand.params("export")] == [None, 3, 6]


def test_export_to_a_file_that_only_its_owner_reads(stand: Stand, tmp_path: Path) -> None:
    stand.answers["export"] = pages
    target = tmp_path / "out" / "all.ndjson"
    target.parent.mkdir()
    result = stand.run("export", "--output", str(target), "--json")
    assert [json.loads(line) for line in target.read_text().split("\n")[:-1]] == RECORDS
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    report = json.loads(result.stdout)
    assert report == {"path": str(target), "records": 7, "bytes": target.stat().st_size}


def test_a_broken_export_leaves_the_old_file(stand: Stand, tmp_path: Path) -> None:
    def break_off(params: dict[str, Any]) -> Any:
        return InternalError("disk") if "after" in params else pages(params)

    stand.answers["export"] = break_off
    target = tmp_path / "all.ndjson"
    target.write_text("old")
    assert stand.run("export", "--output", str(target)).exit_code == exits.REFUSED
    assert target.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"all.ndjson", "brain.sock"}


def test_export_into_a_folder_that_is_not_there(stand: Stand, tmp_path: Path) -> None:
    result = stand.run("export", "--output", str(tmp_path / "no" / "all.ndjson"))
    assert result.exit_code == exits.LOCAL_FILE
    assert result.stderr == f"brain: {tmp_path}/no/all.ndjson: No such file or directory\n"


def test_import_sends_bounded_pages_and_sums_the_counts(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "PAGE_RECORDS", 3)
    stand.answers["import"] = lambda params: {"created": len(params["records"]), "ok": True}
    source = tmp_path / "all.ndjson"
    source.write_text("\n\n".join(json.dumps(record) for record in RECORDS))
    result = stand.run("import", str(source), "--json")
    assert json.loads(result.stdout) == {"records": 7, "created": 7}
    sent = [params["records"] for params in stand.params("import")]
    assert [len(page) for page in sent] == [3, 3, 1]
    assert [record for page in sent for record in page] == RECORDS
    assert stand.run("import", str(source)).stdout == "imported 7 records, 7 created\n"


def test_import_bounds_a_page_in_bytes(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "PAGE_BYTES", 100)
    stand.answers["import"] = {}
    source = tmp_path / "all.ndjson"
    source.write_text("".join(json.dumps({"text": "x" * 50}) + "\n" for _ in range(3)))
    assert stand.run("import", str(source)).exit_code == exits.OK
    assert len(stand.params("import")) == 3


def test_import_from_standard_input(stand: Stand) -> None:
    stand.answers["import"] = lambda params: {"created": len(params["records"])}
    result = stand.run("import", "-", input='{"a": 1}\n{"b": 2}\n')
    assert result.stdout == "imported 2 records, 2 created\n"


def test_a_bad_line_is_named(stand: Stand, tmp_path: Path) -> None:
    stand.answers["import"] = {}
    source = tmp_path / "all.ndjson"
    source.write_bytes(b'{"a": 1}\n{"a": \xff}\n')
    result = stand.run("import", str(source))
    assert result.exit_code == exits.LOCAL_FILE
    assert f"brain: {source}: line 2 is not JSON" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_record_that_the_daemon_refuses(stand: Stand) -> None:
    stand.answers["import"] = BadRequest("records[0] has no text")
    result = stand.run("import", "-", input="\n{}\n")
    assert result.exit_code == exits.USAGE
    assert result.stderr == "brain: -, in the records from line 2 on: records[0] has no text\n"
