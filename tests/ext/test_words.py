"""The words of compounds against regular expressions."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brain_daemon._ext.words import split_compound

PARTS = re.compile(r"[A-Za-z](?:\+\+|#(?![0-9A-Za-z\x80-\U0010ffff]))|[0-9A-Za-z\x80-\U0010ffff]+")
HUMPS = re.compile(r"(?<=[a-zß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])|(?<=[A-Z])(?=[A-Z][a-z])")


def expected(compound):
    found = list(PARTS.finditer(compound))
    if not found:
        return "", [], []
    parts = [[word.casefold() for word in HUMPS.split(match.group())] for match in found]
    whole = compound[found[0].start() : found[-1].end()].casefold()
    words = [word for part in parts for word in part]
    humped = ["".join(part) for part in parts if len(part) > 1]
    wholes = humped if len(parts) == 1 else [whole, *humped]
    return whole, words, wholes


@given(st.text(st.sampled_from("abzABZ019_-.:'#+/@[`{ßÖöÀ÷×ÿÞłŁд語\U0001f600\0")) | st.text())
@example("C++11/C#")
@example("c#x")
@example("\ud800HTTPServer_v2.getURL")
def test_words_are_those_of_the_rules(compound):
    assert split_compound(compound) == expected(compound)


@pytest.mark.parametrize(
    ("compound", "whole", "words", "wholes"),
    [
        ("word", "word", ["word"], []),
        ("GitHub", "github", ["git", "hub"], ["github"]),
        ("GitHub.com", "github.com", ["git", "hub", "com"], ["github.com", "github"]),
        (
            "--no-HTTPServer",
            "no-httpserver",
            ["no", "http", "server"],
            ["no-httpserver", "httpserver"],
        ),
        ("C++", "c++", ["c++"], []),
        ("F#-C#", "f#-c#", ["f#", "c#"], ["f#-c#"]),
        ("C#minor", "c#minor", ["c", "minor"], ["c#minor"]),
        ("fußBall", "fussball", ["fuss", "ball"], ["fussball"]),
        ("...", "", [], []),
        ("", "", [], []),
    ],
)
def test_words_and_wholes(compound, whole, words, wholes):
    assert split_compound(compound) == (whole, words, wholes)
