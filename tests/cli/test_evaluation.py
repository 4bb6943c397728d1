"""``brain eval``: table, JSON, picture, exit codes; the engine is the real one."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from brain_daemon.cli import exits
from brain_daemon.cli.main import cli
from tests.evaluation.folders import write_collection


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_collection(tmp_path / "tiny")


def brain_eval(*arguments: str) -> Result:
    return CliRunner().invoke(
        cli, ["--socket", "/nonexistent/s", "eval", *arguments], prog_name="brain"
    )


def test_a_table_needs_no_daemon(folder: Path) -> None:
    result = brain_eval(str(folder), "--k", "3")
    assert result.exit_code == exits.OK, result.output
    (heading,) = [line for line in result.stdout.splitlines() if "ranking" in line]
    assert heading.split() == ["ranking", "nDCG@10", "R@3", "R@10", "MRR"]
    (fusion,) = [line for line in result.stdout.splitlines() if line.startswith(" full fusion ")]
    assert len(fusion.split()) == 2 + 4
    assert "nDCG@10: full fusion" in result.stdout
    assert "not stored: empty" in result.stdout
    assert "asking 4 questions" in result.stderr


def test_json_and_png(folder: Path, tmp_path: Path) -> None:
    png = tmp_path / "tiny.png"
    result = brain_eval(str(folder), "--json", "--png", str(png), "--limit-queries", "2", "--no-kg")
    report = json.loads(result.stdout)
    assert (report["collection"], report["queries"], report["relations"]) == ("tiny", 2, 0)
    assert set(report["verdict"]) == {"nDCG@10", "R@10"}
    assert png.read_bytes().startswith(b"\x89PNG")


def test_a_fusion_below_its_best_leg_is_exit_code_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("brain_daemon.evaluation.report.TOLERANCE", -2.0)
    assert brain_eval(str(folder)).exit_code == exits.NEGATIVE


def test_a_folder_that_is_no_collection(tmp_path: Path) -> None:
    result = brain_eval(str(tmp_path))
    assert result.exit_code == exits.LOCAL_FILE
    assert "qrels.tsv" in result.stderr


def test_a_broken_line_is_named(folder: Path) -> None:
    (folder / "queries.jsonl").write_text("{}\n")
    result = brain_eval(str(folder))
    assert result.exit_code == exits.USAGE
    assert "queries.jsonl, line 1" in result.stderr


def test_what_leads_nowhere_is_said(folder: Path) -> None:
    with (folder / "qrels.tsv").open("a") as stream:
        stream.writelines(f"q1\tghost{n}\t1\n" for n in range(7))
    result = brain_eval(str(folder), "--limit-queries", "1")
    named = "ghost0, ghost1, ghost2, ghost3, ghost4 and 2 more"
    assert f"qrels.tsv speaks of what is not there: {named}" in " ".join(result.stdout.split())


def test_bytes_that_are_no_text_are_no_traceback(folder: Path) -> None:
    (folder / "corpus.jsonl").write_bytes(b"\xff\xfe\n")
    result = brain_eval(str(folder))
    assert result.exit_code == exits.USAGE
    assert "corpus.jsonl, line 1: not UTF-8" in result.stderr


def test_a_picture_that_cannot_be_written(folder: Path, tmp_path: Path) -> None:
    result = brain_eval(str(folder), "--png", str(tmp_path / "no" / "where.png"))
    assert result.exit_code == exits.LOCAL_FILE


def test_without_the_extra_the_cure_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.startswith("brain_daemon.evaluation")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    result = brain_eval(str(folder))
    assert result.exit_code == exits.USAGE
    assert "pip install 'brain-daemon[eval]'" in result.stderr
