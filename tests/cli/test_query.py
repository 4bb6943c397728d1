"""``recall`` and ``get``: what is asked of the daemon and what is printed."""

import json
from typing import Any

from brain_daemon.cli import exits
from brain_daemon.errors import NotFound

Stand = Any

HIT = {
    "id": 3,
    "uri": "memory:3",
    "title": "Lisbon",
    "heading_path": [],
    "lines": [1, 1],
    "snippet": "Ana moved to Lisbon.",
    "highlights": [[0, 3]],
    "provenance": {"lexical": {"rank": 1, "bm25": 2.5, "terms": ["ana"]}, "fused": 0.0164},
}


def test_recall_sends_only_what_was_given(stand: Stand) -> None:
    stand.answers["recall"] = {"hits": [HIT]}
    assert stand.run("recall", "who?").exit_code == 0
    assert stand.params("recall") == [{"q": "who?"}]


def test_recall_sends_every_option(stand: Stand) -> None:
    stand.answers["recall"] = {"hits": [HIT]}
    stand.run(
        *("recall", "who?", "--k", "3", "--domain", "people", "--source", "vault"),
        *("--source", "memory", "--since", "2026-01-01", "--until", "2026-02-01"),
        *(
            "--no-graph",
            "--no-expand",
            "--no-abstain",
            "--min-relevance",
            "medium",
            "--include-decayed",
            "--term",
            "a",
            "--term",
            "b",
            "--phrase",
            "c d",
        ),
        *("--exclude", "e", "--code", "f::g", "--trace", "--render"),
        *("--max-context-tokens", "500"),
    )
    assert stand.params("recall") == [
        {
            "q": "who?",
            "k": 3,
            "lex": {"terms": ["a", "b"], "phrases": ["c d"], "exclude": ["e"], "code": ["f::g"]},
            "domain": "people",
            "sources": ["vault", "memory"],
            "since": "2026-01-01",
            "until": "2026-02-01",
            "graph": False,
            "expand": False,
            "abstain": False,
            "min_relevance": "medium",
            "include_decayed": True,
            "trace": True,
            "render": True,
            "max_context_tokens": 500,
        }
    ]


def test_a_query_may_look_like_an_option(stand: Stand) -> None:
    stand.answers["recall"] = {"hits": [HIT]}
    assert stand.run("recall", "--error-on-warnings", "--k", "3").exit_code == 0
    assert stand.params("recall") == [{"q": "--error-on-warnings", "k": 3}]


def test_recall_prints_hits_or_the_answer_as_json(stand: Stand) -> None:
    stand.answers["recall"] = {"hits": [HIT], "visible": 5}
    assert " 1. Lisbon\n" in stand.run("recall", "who?").stdout
    assert "1/61 = 0.01640" in stand.run("recall", "who?", "--explain").stdout
    assert json.loads(stand.run("recall", "who?", "--json").stdout) == {
        "hits": [HIT],
        "visible": 5,
    }


def test_explain_tells_how_the_query_was_read_and_searched_again(stand: Stand) -> None:
    again = {"expansion": {"rank": 4, "bm25": 1.0, "terms": ["glove"]}}
    new = {"expansion": {"rank": None, "bm25": None, "terms": ["glove"]}}
    stand.answers["recall"] = {
        "hits": [{**HIT, "provenance": HIT["provenance"] | how} for how in (again, new)],
        "lex": {"terms": [], "phrases": ["a b"], "exclude": ["c"], "code": []},
        "expansion": {"fired": True, "reason": "both agree", "terms": [{"term": "glove"}]},
    }
    shown = stand.run("recall", "who?", "--explain").stdout
    assert "read as  phrases: a b · exclude: c" in shown
    assert "second lexical pass: both agree; added glove" in shown
    assert "#1 2.5 (was #4)" in shown
    assert "#1 2.5 ↓1 (new)" in shown
    assert "second lexical pass" not in stand.run("recall", "who?").stdout


def test_a_rendered_block_is_all_that_is_printed(stand: Stand) -> None:
    stand.answers["recall"] = {"hits": [HIT], "render": {"text": "<fence 1>\n> a\n</fence 1>"}}
    assert stand.run("recall", "who?", "--render").stdout == "<fence 1>\n> a\n</fence 1>\n"


def test_a_trace_shows_what_was_asked_and_how_it_was_ranked(stand: Stand) -> None:
    stand.answers["trace"] = {
        "request": {"q": "who?"},
        "at": "2026-05-01T00:00:00Z",
        "decision": "answered",
        "hits": [{"id": 3, "provenance": HIT["provenance"]}, {"id": 4, "gone": True}],
        "legs": {"lexical": {"status": "ran", "candidates": 7}},
        "ranked": {"vector": [[5, 0.51234567]], "lexical": [[3, 7.25], [9, 6.5]], "graph": []},
    }
    shown = stand.run("trace", "abc").stdout
    assert stand.params("trace") == [{"trace_id": "abc"}]
    for part in (
        "who?",
        "2026-05-01",
        " 3 ",
        "1/61 = 0.01640",
        " 4 ",
        "lexical (7)",
        "9 6.5",
    ):
        assert part in shown
    assert json.loads(stand.run("trace", "abc", "--json").stdout) == stand.answers["trace"]


def test_nothing_found_is_exit_code_1_and_says_so(stand: Stand) -> None:
    stand.answers["recall"] = {"hits": [], "visible": 0}
    result = stand.run("recall", "who?")
    assert result.exit_code == exits.NEGATIVE
    assert "Nothing found" in result.stdout
    result = stand.run("recall", "who?", "--json")
    assert result.exit_code == exits.NEGATIVE
    assert json.loads(result.stdout)["hits"] == []


def test_get_shows_the_whole_text_and_the_tags(stand: Stand) -> None:
    chunk = {**HIT, "text": "line one\n\tline \x1b[1m two\n", "domain": "people", "region": None}
    stand.answers["get"] = lambda params: chunk
    result = stand.run("get", "3")
    assert stand.params("get") == [{"id": 3}]
    assert "line one\n" in result.stdout
    assert r"line \x1b[1m two" in result.stdout
    assert "people" in result.stdout
    assert "region" not in result.stdout
    assert json.loads(stand.run("get", "3", "--json").stdout) == chunk


def test_get_of_what_is_not_there(stand: Stand) -> None:
    stand.answers["get"] = NotFound("there is no chunk 9")
    result = stand.run("get", "9", "--json")
    assert (result.exit_code, result.stdout) == (exits.NEGATIVE, "")
    assert result.stderr == "brain: there is no chunk 9\n"


def test_verify_shows_where_and_its_exit_code_is_the_answer(stand: Stand) -> None:
    verdict = {"supported": True, "decision": "verbatim", "match_ranges": [[0, 3]]}
    stand.answers["verify"] = lambda params: verdict
    stand.answers["get"] = {**HIT, "text": "Ana \x1bmoved"}
    result = stand.run("verify", "3", "ana")
    assert stand.params("verify") == [{"chunk_id": 3, "claim": "ana"}]
    assert result.exit_code == 0
    assert result.stdout == "supported: verbatim\nAna \\x1bmoved\n"
    verdict["supported"] = False
    result = stand.run("verify", "3", "ana", "--json")
    assert result.exit_code == exits.NEGATIVE
    assert json.loads(result.stdout) == verdict
