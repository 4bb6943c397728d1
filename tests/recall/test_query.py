from typing import Any

import pytest

from brain_daemon.errors import BadRequest
from brain_daemon.index.visibility import Filters
from brain_daemon.recall.query import MAX_QUERY_CHARS, decode_query


def test_defaults() -> None:
    query = decode_query({"q": "x"})
    assert (query.v, query.k, query.graph, query.provenance) == (1, 5, True, True)
    assert query.filters() == Filters()


def test_filters() -> None:
    query = decode_query(
        {
            "q": "x",
            "sources": ["vault", "manual", "vault"],
            "since": "2026-05-01",
            "until": 1_800_000_000,
            "domain": "work.*",
            "node_kind": "fact",
            "include_decayed": True,
        }
    )
    assert query.filters() == Filters(
        domain="work.*",
        sources=("manual", "vault"),
        node_kind="fact",
        since_us=1_777_593_600_000_000,
        until_us=1_800_000_000_000_000,
        include_decayed=True,
    )
    assert decode_query({"q": "x", "source": "vault"}).filters().sources == ("vault",)


@pytest.mark.parametrize("k", [0, -1, 101, 4096, 4097, 10**9, 2**70, "5", 2.5, 5.0, True, None])
def test_k_is_an_integer_of_1_to_100(k: Any) -> None:
    with pytest.raises(BadRequest, match="an integer of 1 to 100") as caught:
        decode_query({"q": "x", "k": k})
    assert caught.value.detail["field"] == "k"
    assert str(k) in caught.value.message


@pytest.mark.parametrize("k", [1, 100])
def test_the_ends_of_k(k: int) -> None:
    assert decode_query({"q": "x", "k": k}).k == k


@pytest.mark.parametrize(
    ("params", "field", "says"),
    [
        ({}, "q", "a string"),
        ({"q": ""}, "q", "1 to 8,192 characters"),
        ({"q": "   \n"}, "q", "only spaces"),
        ({"q": "x" * (MAX_QUERY_CHARS + 1)}, "q", "8,192"),
        ({"q": b"x"}, "q", "a string"),
        ({"q": ["x"]}, "q", "a string"),
        ({"q": "x", "v": 2}, "v", "one of 1"),
        ({"q": "x", "source": "email"}, "source", "'markdown'"),
        ({"q": "x", "sources": ["vault", "email"]}, "sources[1]", "'markdown'"),
        ({"q": "x", "sources": []}, "sources", "at least 1|1 to 16"),
        ({"q": "x", "source": "vault", "sources": ["vault"]}, "source", "one of the two"),
        ({"q": "x", "domain": "a*b"}, "domain", "followed by one"),
        ({"q": "x", "domain": ""}, "domain", "1 to 256 characters"),
        ({"q": "x", "graph": 1}, "graph", "true or false"),
        ({"q": "x", "graph": "false"}, "graph", "true or false"),
        ({"q": "x", "since": []}, "since", "a string"),
        ({"q": "x", "limit": 5}, "limit", "accepted are q, v, k"),
        ({"q": "x", "lex": "y"}, "lex", "a map with the keys terms, phrases, exclude, code"),
        ({"q": "x", "lex": {"term": []}}, "lex.term", "accepted are terms, phrases, exclude, code"),
        ({"q": "x", "lex": {"terms": "y"}}, "lex.terms", "a list of at most 32 items"),
        (
            {"q": "x", "lex": {"code": ["y", 5]}},
            "lex.code[1]",
            "it is 5; give a string of 1 to 256",
        ),
        ({"q": "x", "lex": {"exclude": [""]}}, "lex.exclude[0]", "a string of 1 to 256 characters"),
        ({"q": "x", "lex": {"phrases": ["y"] * 33}}, "lex.phrases", "at most 32 items"),
        ({"q": "x", "lex": {"phrases": ["y" * 257]}}, "lex.phrases[0]", "1 to 256 characters"),
    ],
)
def test_what_is_refused_is_named(params: dict[str, Any], field: str, says: str) -> None:
    with pytest.raises(BadRequest, match=says) as caught:
        decode_query(params)
    assert caught.value.detail["field"] == field


@pytest.mark.parametrize("stamp", ["2026-02-30", "", "soon", float("nan"), float("inf"), 10**30])
@pytest.mark.parametrize("field", ["since", "until"])
def test_times_are_points_in_time(field: str, stamp: Any) -> None:
    with pytest.raises(BadRequest, match="ISO 8601") as caught:
        decode_query({"q": "x", field: stamp}).filters()
    assert caught.value.detail["field"] == field


@pytest.mark.parametrize("params", [None, [], "q", [{"q": "x"}], {1: 2}, {b"q": "x"}])
def test_parameters_are_a_map_with_string_keys(params: Any) -> None:
    with pytest.raises(BadRequest, match="q, v, k"):
        decode_query(params)
