"""``remember`` and ``forget``."""

import json
from pathlib import Path
from typing import Any

import pytest

from brain_daemon.cli import exits
from brain_daemon.cli.write import forget_target, stored

Stand = Any


def test_remember_sends_only_what_was_given(stand: Stand) -> None:
    stand.answers["remember"] = {"id": 1, "chunk_ids": [1], "created": True}
    assert stand.run("remember", "Ana moved.").exit_code == 0
    assert stand.params("remember") == [{"text": "Ana moved.", "near_duplicates": True}]


def test_remember_sends_every_tag(stand: Stand) -> None:
    stand.answers["remember"] = {"id": 1, "chunk_ids": [1], "created": True}
    stand.run(
        *("remember", "Ana moved.", "--title", "Ana", "--uri", "note:1", "--domain", "people"),
        *("--access-scope", "team", "--node-kind", "fact", "--lawful-basis", "consent"),
        *("--region", "eu", "--pii", "--created-at", "2026-01-01", "--expires-at", "2027-01-01"),
        *("--thread", "t", "--seq", "0", "--entity", "Ana", "--entity", "Lisbon"),
        *("--relation", "Ana | lives in |Lisbon"),
    )
    assert stand.params("remember") == [
        {
            "text": "Ana moved.",
            "near_duplicates": True,
            "title": "Ana",
            "uri": "note:1",
            "domain": "people",
            "access_scope": "team",
            "node_kind": "fact",
            "lawful_basis": "consent",
            "region": "eu",
            "pii": True,
            "created_at": "2026-01-01",
            "expires_at": "2027-01-01",
            "thread": "t",
            "seq": 0,
            "entities": ["Ana", "Lisbon"],
            "relations": [{"subject": "Ana", "relation": "lives in", "object": "Lisbon"}],
        }
    ]


def test_remember_reads_standard_input(stand: Stand) -> None:
    stand.answers["remember"] = {"id": 1, "chunk_ids": [1], "created": True}
    stand.run("remember", "-", input="línea\n".encode())
    assert stand.params("remember") == [{"text": "línea\n", "near_duplicates": True}]


def test_standard_input_must_be_utf8(stand: Stand) -> None:
    result = stand.run("remember", "-", input=b"a\xff")
    assert result.exit_code == exits.LOCAL_FILE
    assert result.stderr == "brain: standard input: not UTF-8 text (byte 1)\n"
    assert stand.calls == []


def test_remember_prints_the_answer_as_json(stand: Stand) -> None:
    answer = {"id": 1, "chunk_ids": [1], "created": True, "flagged": False}
    stand.answers["remember"] = answer
    assert json.loads(stand.run("remember", "x", "--json").stdout) == answer


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            {"id": 4, "uri": "memory:4", "chunk_ids": [9], "created": True, "mentions": 2},
            "remembered: document 4 (memory:4) · 1 chunk (id 9) · 2 mentions",
        ),
        (
            {"id": 4, "chunk_ids": [9, 10, 11], "created": False, "revision": 3, "flagged": True},
            "remembered anew: document 4 · 3 chunks (ids 9–11) · revision 3 · flagged for review",
        ),
        ({"id": 4, "unchanged": True}, "already known, unchanged: document 4"),
    ],
)
def test_what_became_of_a_memory(answer: dict[str, Any], sentence: str) -> None:
    assert stored(answer) == sentence


def test_forget_by_number_uri_and_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert forget_target("17", document=False) == {"id": 17}
    assert forget_target("17", document=True) == {"document_id": 17}
    assert forget_target("memory:17", document=False) == {"uri": "memory:17"}
    gone = (tmp_path.resolve() / "sub" / "a b.md").as_uri()
    assert forget_target("sub/a b.md", document=False) == {"uri": gone}


def test_forget_calls_once_and_counts(stand: Stand) -> None:
    stand.answers["forget"] = {"document_ids": [2], "chunk_ids": [5, 6]}
    assert stand.run("forget", "memory:2").stdout == "forgotten: 2 chunks of 1 document\n"
    assert stand.params("forget") == [{"uri": "memory:2"}]
    assert json.loads(stand.run("forget", "5", "--json").stdout)["chunk_ids"] == [5, 6]


def test_remember_says_what_a_memory_repeats(stand: Stand) -> None:
    stand.answers["remember"] = {"id": 4, "chunk_ids": [], "unchanged": True, "echo_of": 7}
    assert "not stored again: chunk 7 of document 4" in stand.run("remember", "x").stdout
    near = [{"id": 3}, {"id": 9}]
    stand.answers["remember"] = {"id": 4, "chunk_ids": [5], "near_duplicates": near}
    assert "much like chunk 3, 9" in stand.run("remember", "x").stdout
