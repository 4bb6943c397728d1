"""Phrases, exclusions and exact code: what is read as one, and what it lets through."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_daemon.errors import BadRequest
from brain_daemon.index.visibility import EVERYTHING
from brain_daemon.recall import operators
from brain_daemon.recall.query import Lex, decode_query
from brain_daemon.text.verbatim import fold, holds
from tests.index.stores import ALICE, ANALYZER, BOB, NOW_US
from tests.recall.memories import Memories


def read(q: str, **lex: Any) -> tuple[str, dict[str, tuple[str, ...]]]:
    query = operators.normalize(decode_query({"q": q, "lex": lex}), ANALYZER)
    named = {name: getattr(query.lex, name) for name in ("phrases", "exclude", "code")}
    return query.q, {name: words for name, words in named.items() if words}


@pytest.mark.parametrize(
    ("q", "text", "lex"),
    [
        ('"a phrase"', "a phrase", {"phrases": ("a phrase",)}),
        ('say "a phrase", please', "say a phrase, please", {"phrases": ("a phrase",)}),
        ('("a b") "c d"?', "(a b) c d?", {"phrases": ("a b", "c d")}),
        ("lisbon -draft", "lisbon ", {"exclude": ("draft",)}),
        ("-draft lisbon", " lisbon", {"exclude": ("draft",)}),
        ("lisbon -draft, please", "lisbon , please", {"exclude": ("draft",)}),
        ("lisbon -foo-bar", "lisbon ", {"exclude": ("foo-bar",)}),
        ("lisbon -don't", "lisbon ", {"exclude": ("don't",)}),
        ("lisbon -Öl", "lisbon ", {"exclude": ("Öl",)}),
        ("成语 -龙", "成语 ", {"exclude": ("龙",)}),
        ('lisbon -"a draft"', "lisbon ", {"exclude": ("a draft",)}),
        ("`a::b/c` here", "a::b/c here", {"code": ("a::b/c",)}),
        ("(`git push --force`)", "(git push --force)", {"code": ("git push --force",)}),
        (
            '"a b" -c1 `d::e` f',
            "a b  d::e f",
            {"phrases": ("a b",), "exclude": ("c1",), "code": ("d::e",)},
        ),
        ("first\nsecond -third", "first\nsecond ", {"exclude": ("third",)}),
    ],
)
def test_what_is_read_as_an_operator(q: str, text: str, lex: dict[str, Any]) -> None:
    assert read(q) == (text, lex)


@pytest.mark.parametrize(
    "q",
    [
        'a lone " mark', '"', '""', '" "', 'AND "', '" spaced "', 'a 12" pipe and a 6" one',
        'say "what', 'un"quoted"text', '"half"open', '"one\nline"', '"..."', "“curly phrase”",
        "'single quotes'", "-5 degrees", "-", "a - b", "a -- b", "--flag", "ls -l x", "foo-bar",
        "a -_b", "don't", "-foo", '-"only this"', "-foo -bar", "- item", "-item one\n-item two",
        "list:\n  -item", "one – two", "a `lone backtick", "``a``", "```code```", "` a `", "`...`",
        "a`b`c", "x -" + "y" * 300, '"' + "y " * 200 + 'y"', "col:x", "NEAR(", "a\\", "!", "-!x",
    ],
)  # fmt: skip
def test_what_is_ordinary_text(q: str) -> None:
    assert read(q) == (q, {})


@given(st.text(alphabet='ab -"`\n.5(é语', min_size=1).filter(str.strip))
def test_any_text_can_be_read_and_leaves_something_to_search_for(q: str) -> None:
    text, lex = read(q)
    assert text == q or lex
    if "exclude" in lex:
        assert ANALYZER.query(text).terms


def test_no_more_than_so_many_are_read() -> None:
    q = " ".join(["word", *(f"-no{i}" for i in range(40))])
    text, lex = read(q)
    assert len(lex["exclude"]) == 32
    assert text.split() == ["word", *(f"-no{i}" for i in range(32, 40))]


def test_both_ways_of_asking_add_up() -> None:
    assert read('"a b" c', phrases=["a b", "d"], exclude=["e"]) == (
        "a b c",
        {"phrases": ("a b", "d"), "exclude": ("e",)},
    )


def test_an_exclusion_alone_holds_where_lex_has_something_to_search_for(memories: Memories) -> None:
    for name in ("terms", "phrases", "code"):
        query = operators.normalize(
            decode_query({"q": "-draft!", "lex": {name: ["plan b"]}}), ANALYZER
        )
        assert (query.q, query.lex.exclude) == ("plan b", ("draft",))
    assert read("-draft", exclude=["other"]) == ("-draft", {"exclude": ("other",)})
    final = memories.add("the final plan")
    memories.add("the draft plan")
    assert memories.found("-draft", lex={"terms": ["plan"]}) == [final]


@pytest.mark.parametrize("name", ["phrases", "exclude", "code"])
def test_what_has_no_word_decides_nothing_and_is_refused(name: str) -> None:
    with pytest.raises(BadRequest, match="has no word") as caught:
        read("q", **{name: ["fine", "..."]})
    assert caught.value.detail["field"] == f"lex.{name}[1]"


@pytest.mark.parametrize(
    ("params", "decides"),
    [
        ({"q": '"a b" c'}, True),
        ({"q": "a -bc"}, True),
        ({"q": 'foo-bar " -5 --flag'}, False),
        ({"q": "plain words, well-known and --flagged"}, False),
        ({"q": "a", "lex": {"terms": ["b"]}}, False),
        ({"q": "a", "lex": {"code": ["b"]}}, True),
        ({"q": "a", "lex": {"exclude": ["b"]}}, True),
        ({"q": "a", "lex": {"phrases": ["b"]}}, True),
    ],
)
def test_what_may_read_texts_is_known_beforehand(params: dict[str, Any], decides: bool) -> None:
    assert operators.decides(decode_query(params)) is decides


def kept(memories: Memories, **lex: Any) -> list[int]:
    visible = memories.snapshot.visible(ALICE, EVERYTHING, NOW_US)
    asked = Lex(**{name: (words,) for name, words in lex.items()})
    fitting = operators.restrict(asked, visible, memories.snapshot, memories.conn, ANALYZER)
    assert fitting.n_visible == fitting.mask.sum()
    return memories.ids(fitting.mask.nonzero()[0])


TEXTS = [
    "mind the gap",
    "Mind, the gap",
    "minding the gaps",
    "MIND\nTHE GAP!",
    "JavaScript is fine",
    "Javascript is fine",
    "java script is fine",
    "the Straße is naïve",
    "他喜欢成语接龙",
    "call grammar::fa now",
    "call GRAMMAR::FA now",
    "call xgrammar::fa now",
    "written in C++",
    "written in C",
    "We don't; to be or not to be",
    "the foo_bar.baz helper",
    "see GitHub.com/fooBar_baz.qux-Quux, McDonald's",
    "край и край",
]


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        ("mind the gap", [0, 3]),
        ("the gap", [0, 1, 3]),
        ("javascript is", [4, 5]),
        ("JavaScript IS fine", [4, 5]),
        ("java script", [6]),
        ("STRASSE IST", []),
        ("the strasse is naive", [7]),
        ("成语", [8]),
        ("语接龙", [8]),
        ("grammar::fa", [9, 10]),
        ("C++", [12]),
        ("C", [13]),
        ("to be or not to be", [14]),
        ("don’t", [14]),
        ("foo_bar.baz", [15]),
        ("foo", []),
        ("github", [16]),
        ("GITHUB.COM", [16]),
        ("see github.com/foobar_baz", [16]),
        ("see github.com/foobar", []),  # a word ends where no underscore follows
        ("see github.com/foobar_baz.qux", [16]),
        ("quux, mcdonald", [16]),
        ("mcdonald's", [16]),
        ("край", [17]),
        ("краи", []),  # another letter, not an accent
        ("zzqxv", []),
    ],
)
def test_phrases_and_exclusions_are_the_spelt_words(
    memories: Memories, words: str, texts: list[int]
) -> None:
    ids = [memories.add(text, title="A sign") for text in TEXTS]
    assert kept(memories, phrases=words) == [ids[i] for i in texts]
    assert kept(memories, exclude=words) == [id_ for i, id_ in enumerate(ids) if i not in texts]


def test_the_index_names_every_text_that_holds_a_phrase(memories: Memories) -> None:
    """Else an exclusion would let it through."""
    texts = [text for text in TEXTS if text != "written in C++"]  # which is not C
    ids = [memories.add(text) for text in texts]
    asked = {
        form(" ".join(words[start:end]))
        for words in map(str.split, texts)
        for start in range(len(words))
        for end in range(start + 1, len(words) + 1)
        for form in (str, str.lower, str.upper, str.title)
    }
    for phrase in asked:
        holding = [i for i, text in enumerate(texts) if holds(fold(text), fold(phrase))]
        assert kept(memories, phrases=phrase) == [ids[i] for i in holding], phrase


def test_code_is_compared_to_the_letter(memories: Memories) -> None:
    ids = [memories.add(text) for text in TEXTS]
    assert kept(memories, code="grammar::fa") == [ids[9]]
    assert kept(memories, code="GRAMMAR::FA") == [ids[10]]
    assert kept(memories, code="foo_bar.baz") == [ids[15]]
    assert kept(memories, code="Foo_bar.baz") == []


def test_titles_and_headings_count(memories: Memories) -> None:
    titled = memories.add("nothing else", title="The Cellar Plan")
    other = memories.add("the cellar and a plan")
    assert kept(memories, phrases="cellar plan") == [titled]
    assert kept(memories, exclude="cellar plan") == [other]


def test_only_what_is_visible_is_looked_at(memories: Memories) -> None:
    memories.add("mind the gap", owner="bob")
    mine = memories.add("mind the gap")
    assert kept(memories, phrases="mind the gap") == [mine]
    assert [h["id"] for h in memories.recall('"mind the gap"', BOB)["hits"]] != [mine]


def test_an_exclusion_holds_in_every_leg_and_carries_nothing(memories: Memories) -> None:
    same = memories.model.embed("the weather station on the roof")
    secret = memories.add(
        "weather station draft", embedding=same, names=["Gauge", "Roof"], title="Draft"
    )
    # Reached through the excluded chunk alone: by its entity, and by feedback on its words.
    beyond = memories.add("tiles", embedding=-same, names=["Roof"])
    kept_one = memories.add("weather station", embedding=same, names=["Gauge"])
    everything = memories.recall("weather station", k=10)["hits"]
    assert {hit["id"] for hit in everything} == {secret, beyond, kept_one}
    without = memories.recall("weather station -draft", k=10)
    assert [hit["id"] for hit in without["hits"]] == [kept_one]
    assert without["visible"] == 3
    assert without["lex"]["exclude"] == ("draft",)
    assert without["legs"]["vector"]["feedback"] == [kept_one]
    for leg in ("vector", "lexical", "graph"):
        assert without["legs"][leg]["candidates"] == 1


def test_what_cannot_be_met_is_told(memories: Memories) -> None:
    memories.add("mind the gap")
    answer = memories.recall('"the gap mind" `x::y` -word')
    assert (answer["decision"], answer["hits"]) == ("no_match", [])
    assert 'the phrase "the gap mind"' in answer["reason"]
    assert 'the code `x::y` and no "word"' in answer["reason"]
    assert answer["legs"]["vector"] == {
        "status": "skipped",
        "reason": "no visible chunk meets lex",
    }


@pytest.mark.parametrize(
    ("lex", "terms"),
    [
        ({"phrases": ["mind the gap"]}, ["mind", "gap"]),
        ({"code": ["grammar::fa"]}, ["grammar", "fa", "grammar::fa"]),
        ({"terms": ["gap"]}, ["gap"]),
    ],
)
def test_the_words_of_what_must_be_there_are_searched_for(
    memories: Memories, lex: dict[str, Any], terms: list[str]
) -> None:
    wanted = memories.add("mind the gap in grammar::fa", embedding=np.zeros(256, np.float32))
    answer = memories.recall("weather", lex=lex)
    assert answer["legs"]["lexical"]["terms"] == ["weather", *terms]
    (hit,) = answer["hits"]
    assert (hit["id"], hit["provenance"]["lexical"]["terms"]) == (wanted, terms)


def test_what_is_excluded_is_not_searched_for(memories: Memories) -> None:
    memories.add("mind the gap")
    answer = memories.recall("mind", lex={"exclude": ["weather"]})
    assert answer["legs"]["lexical"]["terms"] == ["mind"]


def test_terms_of_lex_rank_and_are_not_embedded(memories: Memories) -> None:
    wanted = memories.add("ZX-81 on the shelf")
    memories.add("The weather is fine")
    plain = memories.recall("weather", graph=False)
    answer = memories.recall("weather", lex={"terms": ["ZX-81"]}, graph=False)
    found = {hit["id"]: hit["provenance"] for hit in answer["hits"]}
    assert found[wanted]["lexical"]["rank"] == 1
    assert "zx-81" in answer["legs"]["lexical"]["terms"]
    cosines = [
        {
            h["id"]: h["provenance"]["vector"]["query_cosine"]
            for h in a["hits"]
            if h["provenance"]["vector"]
        }
        for a in (plain, answer)
    ]
    shared = cosines[0].keys() & cosines[1].keys()
    assert shared
    assert all(cosines[0][id_] == cosines[1][id_] for id_ in shared)
