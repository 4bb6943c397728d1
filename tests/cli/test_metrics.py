"""``brain metrics``: the text as it is, as JSON, and into a file that is never half there."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from brain_daemon.cli import exits
from brain_daemon.cli.metrics import parse
from brain_daemon.service.exposition import Family, render
from tests.daemon_process import Daemon

Stand = Any
ODD = 'a "quoted" \\ back\nslash, {brace} é'
TEXT = render(
    [
        Family("brain_chunks", "gauge", "Chunks.").set(3),
        Family("brain_errors_total", "counter", "Errors.").each("code", {ODD: 1, "b": 0.25}),
    ]
)


@pytest.fixture
def answering(stand: Stand) -> Stand:
    stand.answers["metrics"] = {"content_type": "text/plain", "text": TEXT}
    return stand


def test_the_text_is_printed_as_it_is(answering: Stand) -> None:
    assert answering.run("metrics").stdout == TEXT


def test_as_json_each_sample(answering: Stand) -> None:
    assert json.loads(answering.run("metrics", "--json").stdout) == [
        {"name": "brain_chunks", "labels": {}, "value": 3.0},
        {"name": "brain_errors_total", "labels": {"code": ODD}, "value": 1.0},
        {"name": "brain_errors_total", "labels": {"code": "b"}, "value": 0.25},
    ]


def test_what_a_daemon_says_is_read_as_prometheus_reads_it(daemon: Daemon) -> None:
    with daemon.client() as client:
        client.recall("boiler")
        text = client.metrics()["text"]
    theirs = [s for family in text_string_to_metric_families(text) for s in family.samples]
    assert [(s.name, s.labels, s.value) for s in theirs] == [tuple(s) for s in parse(text)]


def test_a_textfile_is_replaced_whole(answering: Stand, tmp_path: Path) -> None:
    folder = tmp_path / "textfiles"
    folder.mkdir()
    file = folder / "brain.prom"
    file.write_text("old")
    with file.open() as opened:
        result = answering.run("metrics", "--textfile", str(file))
        assert opened.read() == "old"  # who reads it now is not disturbed
    assert (result.exit_code, result.stdout) == (exits.OK, "")
    assert file.read_text() == TEXT
    assert stat.S_IMODE(file.stat().st_mode) == 0o644  # the exporter is another user
    assert [path.name for path in folder.iterdir()] == ["brain.prom"]


def test_a_textfile_that_cannot_be_written_leaves_nothing(answering: Stand, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for target in (tmp_path / "absent" / "brain.prom", tmp_path / "there"):
        result = answering.run("metrics", "--textfile", str(target))
        assert result.exit_code in (exits.LOCAL_FILE, exits.USAGE)
        assert str(target) in result.stderr
    assert not list(tmp_path.glob("*brain.prom*"))


@pytest.mark.parametrize("kind", ["fifo", "link"])
@pytest.mark.parametrize("command", [("metrics", "--textfile"), ("export", "--output")])
def test_what_is_no_file_is_left(
    answering: Stand, tmp_path: Path, kind: str, command: tuple[str, str]
) -> None:
    """Root may write to /dev, and must not so replace /dev/stdout or /dev/null."""
    folder = tmp_path / "folder"
    folder.mkdir()
    target = folder / "target"
    os.mkfifo(target) if kind == "fifo" else target.symlink_to("/dev/null")
    before = target.lstat()
    result = answering.run(*command, str(target))
    assert result.exit_code == exits.LOCAL_FILE
    assert "not a regular file" in result.output
    assert os.path.samestat(target.lstat(), before)
    assert [path.name for path in folder.iterdir()] == ["target"]


def test_without_a_daemon_an_old_textfile_stays(tmp_path: Path, daemon: Daemon) -> None:
    file = tmp_path / "brain.prom"
    daemon.cli("metrics", "--textfile", str(file))
    before = file.read_text()
    assert daemon.stop() == 0
    assert daemon.cli("metrics", "--textfile", str(file), check=False).returncode == 3
    assert file.read_text() == before
