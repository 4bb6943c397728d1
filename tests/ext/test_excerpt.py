"""The excerpt kernel against regular expressions."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brain_daemon._ext.excerpt import find, surfaces, window

LIMIT = 12
BREAKS = " ,\n。"
BITS = bytearray(8192)
for mark in BREAKS:
    BITS[ord(mark) >> 3] |= 1 << (ord(mark) & 7)
BITS = bytes(BITS)

texts = st.text(st.sampled_from("abAB.,!?'\" \n。é…\U0001f600\u2003İ")) | st.text()
beginnings = st.none() | st.lists(st.text("ab.'", min_size=1, max_size=3)).map(tuple)


def lowered(text):
    return "".join(char.lower() if char.isascii() else char for char in text)


@given(texts, beginnings)
@example("xAb", ("ab",))
@example("a" * 9, ("a" * 10,))
def test_surfaces_are_the_runs_that_may_hold_a_word(text, wanted):
    runs = [m.span() for m in re.finditer(f"[^{BREAKS}]+", text)]
    expected = [
        (start, end)
        for start, end in runs
        if wanted is None
        or not text[start:end].isascii()
        or any(part in lowered(text[start:end]) for part in wanted)
    ]
    assert surfaces(text, wanted, BITS) == expected


@pytest.mark.parametrize("bad", ["", "é"])
def test_a_beginning_must_be_ascii_and_not_empty(bad):
    with pytest.raises(ValueError, match="a beginning is"):
        surfaces("text", (bad,), BITS)


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="8191 bytes"):
        surfaces("text", None, BITS[1:])
    with pytest.raises(ValueError, match="limit is 0"):
        window("text", [], 0)


def sentences(text):
    """The pieces that a window is made of, by the regular expressions of their description."""
    pieces = []
    start = 0
    ends = [m.end() for m in re.finditer(r"[.!?…]['\")\]]*(?=\s)|[。！？]|\n", text)]
    for end in [*ends, len(text)]:
        body = text[start:end].strip()
        at = start + text[start:end].find(body)
        while body:
            cut = len(body)
            if cut > LIMIT:
                spaces = [i for i in range(1, LIMIT + 1) if body[i].isspace()]
                cut = len(body[: spaces[-1]].rstrip()) if spaces else LIMIT
            pieces.append((at, at + cut))
            rest = body[cut:].lstrip()
            at += len(body) - len(rest)
            body = rest
        start = end
    return pieces


def best_window(text, spans):
    pieces = sentences(text)
    if not pieces:
        return 0, 0
    homes = [max(0, sum(p[0] <= start for p in pieces) - 1) for start, _ in spans]

    def last_of(first):
        last = first
        while last + 1 < len(pieces) and pieces[last + 1][1] <= pieces[first][0] + LIMIT:
            last += 1
        return last

    best, chosen = (0, 0), 0
    for first in dict.fromkeys(homes):
        words = [
            text[slice(*span)].casefold()
            for span, home in zip(spans, homes, strict=True)
            if first <= home <= last_of(first)
        ]
        if (len(set(words)), len(words)) > best:
            best, chosen = (len(set(words)), len(words)), first
    end = pieces[last_of(chosen)][1]
    while chosen and end - pieces[chosen - 1][0] <= LIMIT:
        chosen -= 1
    return pieces[chosen][0], end


@given(texts, beginnings)
def test_what_is_found_is_asked_for_each_surface_and_moved_to_its_place(text, wanted):
    class Inner(dict):
        def __missing__(self, surface):
            return [(0, 1), (1, len(surface))] if len(surface) > 1 else []

    expected = [
        (start + first, start + last)
        for start, end in surfaces(text, wanted, BITS)
        for first, last in Inner()[text[start:end]]
    ]
    assert find(text, wanted, BITS, Inner()) == expected
    assert all(len(text[start:end]) for start, end in expected)


def test_a_surface_without_spans_is_an_error():
    with pytest.raises(KeyError):
        find("ab", None, BITS, {})


@given(texts, st.data())
@example("aa bb. aa aa. bb ab. b", None)
@example("x" * 50, None)
@example("one two three four five", None)
def test_window_holds_most_words(text, data):
    found = [m.span() for m in re.finditer(r"\w+", text)]
    spans = [span for span in found if data is None or data.draw(st.booleans())]
    start, end = window(text, spans, LIMIT)
    assert (start, end) == best_window(text, spans)
    assert end - start <= LIMIT
