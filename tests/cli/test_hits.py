"""Recall answers as a person sees them."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_daemon.cli import hits

HIT: dict[str, Any] = {
    "id": 7,
    "uri": "file:///notes/Ana%20and%20co.md",
    "title": "Ana",
    "heading_path": ["Ana", "Moves"],
    "lines": [12, 18],
    "snippet": "Ána moved to Lisbon in May.",
    "highlights": [[5, 10], [14, 20]],
    "created_at": "2026-05-01T12:00:00Z",
    "domain": "people",
    "provenance": {
        "vector": {"rank": 2, "cosine": 0.6123},
        "lexical": {"rank": 1, "bm25": 7.94, "terms": ["lisbon", "move"]},
        "graph": {
            "rank": 3,
            "score": 0.0123,
            "path": ["query", "Ana", "chunk 9", "Lisbon", "chunk 7"],
        },
        "fused": 0.04839,
    },
}
ANSWER: dict[str, Any] = {
    "decision": "answer",
    "hits": [HIT],
    "legs": {
        "vector": {"status": "ran", "candidates": 100},
        "lexical": {"status": "ran", "candidates": 1200},
        "graph": {"status": "skipped", "reason": "disabled by request"},
    },
    "visible": 1234,
    "took_us": 1530,
}


def printed(answer: dict[str, Any], capsys: pytest.CaptureFixture[str], **options: bool) -> str:
    hits.print_answer(answer, explain=options.get("explain", False))
    return capsys.readouterr().out


def test_a_hit_has_its_place_its_words_and_its_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(ANSWER, capsys).splitlines()
    assert shown[0] == " 1. Ana › Moves"
    assert shown[1].strip() == "/notes/Ana and co.md:12-18 · 2026-05-01 · people · id 7"
    assert shown[2].strip() == "Ána moved to Lisbon in May."
    assert shown[3].strip() == (
        "why  vector #2 cos 0.61 · lexical #1 bm25 7.9 (moved, Lisbon) · "
        "graph #3 via Ana → chunk 9 → Lisbon"
    )
    assert shown[-1] == (
        "vector (100) + lexical (1,200) · graph skipped (disabled by request) · "
        "1,234 chunks visible · 1.53 ms"
    )


def test_a_snippet_keeps_its_lines_and_is_bounded() -> None:
    hit = {"snippet": "a\n\n  b\x1b\n" + "row\n" * 20, "highlights": []}
    lines = hits.snippet(hit).plain.splitlines()
    assert lines[:3] == ["a", "  b\\x1b", "row"]
    assert lines[-1] == "…"
    assert len(lines) == 9


def test_terms_are_shown_where_the_snippet_shows_no_match(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = printed({**ANSWER, "hits": [{**HIT, "highlights": []}]}, capsys)
    assert "bm25 7.9 (lisbon, move)" in shown


def test_highlights_are_byte_ranges() -> None:
    snippet = hits.snippet(HIT)
    assert [snippet.plain[span.start : span.end] for span in snippet.spans] == ["moved", "Lisbon"]


def test_paths_below_the_working_folder_are_relative(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    uri = (tmp_path / "docs" / "a.md").as_uri()
    assert hits.location({"uri": uri, "lines": [3, 3]}) == "docs/a.md:3"
    assert hits.location({"uri": "memory:9", "lines": [1, 2]}) == "memory:9:1-2"


def test_explain_shows_how_the_sum_came_about(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(ANSWER, capsys, explain=True)
    assert "1/62 + 1/61 + 1/63 = 0.04839" in shown
    assert "#2 0.6123 ↑1 " in shown  # first of all, second of the vector leg
    assert "#1 7.94  " in shown
    fell = printed({**ANSWER, "hits": [HIT] * 3}, capsys, explain=True)
    assert "#1 7.94 ↓2 " in fell
    assert "#3 0.0123  " in fell
    assert "1/62" not in printed(ANSWER, capsys)


def test_a_leg_that_did_not_list_the_hit_is_not_a_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    provenance = {**HIT["provenance"], "vector": None, "graph": {"rank": 0, "score": 0.0}}
    shown = printed({**ANSWER, "hits": [{**HIT, "provenance": provenance}]}, capsys, explain=True)
    assert "why  lexical #1 bm25 7.9 (moved, Lisbon)\n" in shown
    assert " 1/61 = 0.04839" in shown


def test_hostile_memory_text_is_shown_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    bad = "\x1b[2J\x9b1m[bold red]x[/bold red]\u202e\x07"
    hit = {
        **HIT,
        "uri": "file:///a%1B%5B2J.md",
        "title": bad,
        "heading_path": [bad],
        "snippet": bad,
        "highlights": [[0, 4]],
        "domain": bad,
        "created_at": bad,
        "provenance": {
            "lexical": {"rank": 1, "bm25": 1.0, "terms": [bad]},
            "graph": {"rank": 1, "path": [bad, bad]},
        },
    }
    legs = {bad: {"status": bad, "reason": bad}}
    shown = printed({**ANSWER, "hits": [hit], "legs": legs}, capsys, explain=True)
    assert not set(shown) & set("\x1b\x9b\u202e\x07")
    assert "[bold red]x[/bold red]" in shown
    assert r"/a\x1b[2J.md" in shown


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"decision": "empty_store", "reason": "nothing is\x1b stored"}, r"nothing is\x1b stored"),
        ({"decision": "no_match"}, "Nothing found: no_match"),
        ({"visible": 5}, "5 chunks visible"),
    ],
)
def test_never_silently_empty(
    answer: dict[str, Any], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert expected in printed({"hits": [], **answer}, capsys)


def test_a_seed_of_the_graph_leg_has_no_way_to_it() -> None:
    assert hits.reason("graph", {"rank": 1, "path": ["query", "chunk 7"]}, {"id": 7}) == "graph #1"


def test_an_answer_without_optional_keys_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert "(untitled)" in printed({"hits": [{"text": "x" * 999}]}, capsys, explain=True)


@given(st.text(), st.lists(st.tuples(st.integers(-5, 40), st.integers(-5, 40))))
def test_splitting_loses_nothing(text: str, ranges: list[tuple[int, int]]) -> None:
    assert "".join(part for part, _ in hits.split_at(text, ranges)) == text


@given(st.text(min_size=1), st.data())
def test_a_character_range_is_found_again(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    byte_range = [len(text[:start].encode()), len(text[:end].encode())]
    matched = [part for part, marked in hits.split_at(text, [byte_range]) if marked]
    assert matched == [text[start:end]]


ASSESSMENT = {
    "confidence": 0.914,
    "threshold": 0.63,
    "signals": {"cosine": 0.5123, "coverage": 0.75},
    "rescue": {"status": "skipped", "reason": "not needed"},
}


def test_how_sure_the_answer_is_stands_in_the_footer(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed({**ANSWER, "assessment": ASSESSMENT}, capsys)
    assert " · confidence 0.91 (answers from 0.63) · 1,234 chunks visible" in shown
    assert "How sure" not in shown
    nothing = {"confidence": 0.0, "threshold": 0.63, "signals": None}
    assert "confidence" not in printed({**ANSWER, "assessment": nothing}, capsys)


def test_explain_shows_the_signals_and_the_second_look(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed({**ANSWER, "assessment": ASSESSMENT}, capsys, explain=True)
    assert "How sure the answer is" in shown
    assert "0.512" in shown
    assert "skipped (not needed)" in shown
    rescue = {"status": "ran", "confidence": 0.2}
    refused = {
        **ANSWER,
        "hits": [],
        "reason": "not sure",
        "assessment": {**ASSESSMENT, "rescue": rescue},
    }
    shown = printed(refused, capsys, explain=True)
    assert "Nothing found: not sure" in shown
    assert "ran, confidence 0.20" in shown


def test_the_relevance_of_a_hit_comes_before_its_reasons(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = printed({**ANSWER, "hits": [{**HIT, "relevance": "medium"}]}, capsys)
    assert "why  medium · vector #2 cos 0.61" in shown


def test_copies_are_counted() -> None:
    assert "sources" not in hits.where({"id": 3, "n_sources": 1}).plain
    assert hits.where({"id": 3, "n_sources": 70}).plain.endswith("id 3 · 70 sources")
