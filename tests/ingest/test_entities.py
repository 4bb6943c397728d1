"""Mentions found by rule."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_daemon.ingest.entities import MAX_MENTIONS, mentions
from brain_daemon.text.names import entity_key


def names(text: str, **given_names: object) -> set[str]:
    return {mention.name for mention in mentions(text, **given_names)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We met Ana Lopez in Porto.", {"Ana Lopez", "Porto"}),
        ("When did Ana move? The next day.", {"Ana"}),
        ("However, the parser failed. Measured again.", set()),
        ("Caroline: Hey Mel! Good to see you!", {"Caroline", "Mel"}),
        ("Caroline's sister and the Smiths' dog", {"Caroline", "Smiths"}),
        ("I don't. It's fine. Don't! I'm Bob, I think.", {"Bob"}),
        ("by J. R. R. Tolkien and George T. Solomon", {"J. R. R. Tolkien", "George T. Solomon"}),
        ("in St. Louis with Dr. Grant", {"St. Louis", "Dr. Grant"}),
        (
            "the University of Porto, the Lord of the Rings",
            {"University of Porto", "Lord of the Rings"},
        ),
        (
            "with Charles de Gaulle and Ludwig van Beethoven",
            {"Charles de Gaulle", "Ludwig van Beethoven"},
        ),
        (
            "Mary O'Brien of AT&T, Jean-Luc and Kim Il-sung",
            {"Mary O'Brien of AT&T", "Jean-Luc", "Kim Il-sung"},
        ),
        ("it runs Python 3.11, since May 2023", {"Python 3.11", "Python", "May 2023"}),
        ("on January 9, 1827 they met", {"January 9, 1827"}),
        ("In March 2017 it rained. On 29 days.", {"March 2017"}),
        ("the UN and WHO told us NOT to", {"UN", "WHO"}),
        ("Last Friday we saw New York", {"New York"}),
        (
            "Der Hund schläft im Garten, sagt die Deutsche Bahn.",
            {"Hund", "Garten", "Deutsche Bahn"},
        ),
        ("Aujourd'hui Élodie visite Évreux.", {"Élodie", "Évreux"}),
        ("Вчера Анна была в Москве.", {"Вчера Анна", "Москве"}),
        ("她读了《红楼梦》。", {"红楼梦"}),
        ('they read "Alice in Wonderland" aloud', {"Alice in Wonderland", "Alice", "Wonderland"}),
        ('she said "That is all we know"', set()),
        ("Setup\nThe server starts", {"Setup"}),
    ],
)
def test_spans(text: str, expected: set[str]) -> None:
    assert names(text) == expected


def test_a_name_may_wrap_with_its_line() -> None:
    text = "this long line of prose is wrapped at its end, just after New\nYork was named"
    assert names(text) == {"New York"}


def test_a_word_also_in_lower_case_is_no_name_at_a_sentence_start() -> None:
    assert names("Cats sleep. We like cats a lot.") == set()
    assert names("Cats sleep.") == {"Cats"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("set max_bytes and __init__ now", {"max_bytes", "__init__"}),
        ("the queryDoc, a useState", {"queryDoc", "useState"}),
        ("call grammar::fa or os.path.join here", {"grammar::fa", "os.path.join"}),
        ("pass --error-on-warnings to it", {"--error-on-warnings"}),
        ("as in DEC-0054, with sha256.", {"DEC-0054", "sha256"}),
        ("see /etc/hosts and Downloads/transcripts.", {"/etc/hosts", "Downloads/transcripts"}),
        ("edit setup.py, then read ../docs/limits.md", {"setup.py", "limits"}),
        ("in C++ or C#, not in c", {"C++", "C#"}),
        ("write to ana@example.com", {"ana@example.com"}),
        ("well-known, e.g. 3.5 or 20 %, and/or", {"and/or"}),
        ("https://Example.com/Some_Path#Part", set()),
    ],
)
def test_identifiers(text: str, expected: set[str]) -> None:
    assert names(text) == expected


def test_code_spans_are_names() -> None:
    found = mentions("", ["`scan()`", "`brain ingest PATH`", "`{}`", "```\nlimit = max_bytes\n```"])
    assert [(m.name, m.kind) for m in found] == [
        ("scan", "code"),
        ("brain ingest PATH", "code"),
        ("max_bytes", "code"),
    ]


def test_given_names_come_first_and_once() -> None:
    found = mentions(
        "the Lisbon office of ACME",
        title="The Office (plan)",
        aliases=["HQ"],
        headings=["Overview", "2.1 Rooms", "B"],
        links=["Ana"],
        hashtags=["lisbon"],
        explicit=["ana", "Bob"],
    )
    assert [(m.name, m.kind) for m in found] == [
        ("ana", "explicit"),
        ("Bob", "explicit"),
        ("lisbon", "tag"),
        ("The Office (plan)", "title"),
        ("The Office", "title"),
        ("Office", "title"),
        ("HQ", "title"),
        ("Rooms", "title"),
        ("ACME", "span"),
    ]


def test_the_most_frequent_are_kept() -> None:
    words = [f"Name{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(200)]
    text = ", ".join(["x", *words, words[-1], words[-1]])
    found = [m.name for m in mentions(text, links=["Ana"])]
    assert found == ["Ana", words[-1], *words[: MAX_MENTIONS - 1]]


def test_link_markup_is_read_as_link_only() -> None:
    assert names("[[Uses::Foo Bar|The Label]]", links=["Foo Bar"]) == {"Foo Bar"}


@given(st.text(max_size=300))
def test_keys_are_distinct_and_results_repeat(text: str) -> None:
    found = mentions(text, [text], title=text[:20], headings=[text[:10]])
    keys = [entity_key(mention.name) for mention in found]
    assert all(keys)
    assert len(set(keys)) == len(keys)
    assert mentions(text, [text], title=text[:20], headings=[text[:10]]) == found


@pytest.mark.parametrize(
    "unit",
    ["A", "A ", "A.", "a_", "a/", "a1A", "Ab of ", "http://", '"A b', "aB", "A'B", "~/", "--a"],
)
def test_hostile_text_costs_little(unit: str) -> None:
    text = unit * (4_000 // len(unit))
    started = time.thread_time()
    mentions(text, [text])
    assert time.thread_time() - started < 0.5


def test_any_order_of_the_stop_words_is_no_name() -> None:
    words = ["The", "When", "However", "We", "Also", "Und", "Les", "Pero"]
    random.Random(7).shuffle(words)
    assert names(" ".join(words)) == set()
