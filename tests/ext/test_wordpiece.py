"""The WordPiece kernel against the greedy reading written down plainly."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_daemon._ext.wordpiece import WordPiece

TOKENS = ["[UNK]", "a", "b", "ab", "##a", "##ab", "##bb", "é", "##é", "##éa", "成", "!", "[", "##"]
VOCABULARY = {token: 100 + index for index, token in enumerate(TOKENS)}
UNKNOWN = VOCABULARY["[UNK]"]
LONGEST_WORD = 7

units = re.compile(r"[!-/:-@\[-`{-~]|[^ !-/:-@\[-`{-~]+")


def greedy(text: str, lowercase: bool) -> list[int]:
    ids: list[int] = []
    for word in units.findall(text):
        if lowercase:
            word = "".join(char.lower() if char.isascii() else char for char in word)
        pieces: list[int] = []
        at = 0 if len(word) <= LONGEST_WORD else len(word) + 1
        while at < len(word):
            for end in range(len(word), at, -1):
                piece = ("##" if at else "") + word[at:end]
                if piece in VOCABULARY:
                    pieces.append(VOCABULARY[piece])
                    at = end
                    break
            else:
                at = len(word) + 1
        ids += pieces if at == len(word) else [UNKNOWN]
    return ids


@given(st.text(st.sampled_from("aAbBé成! [\x07")), st.booleans())
def test_the_longest_piece_first_as_written_down_plainly(text, lowercase):
    pieces = WordPiece(VOCABULARY, UNKNOWN, LONGEST_WORD, lowercase)
    ids = pieces.encode(text)
    assert ids.dtype == np.int32
    assert ids.tolist() == greedy(text, lowercase)


def test_many_pieces_are_all_found():
    tokens = {f"{'##' * (number % 2)}t{number}": number for number in range(20_000)}
    pieces = WordPiece(tokens, -1)
    for number in range(0, 20_000, 2):
        assert pieces.encode(f"t{number}t{number + 1}").tolist() == [number, number + 1]


def test_a_word_is_unknown_beyond_its_length_in_characters_not_bytes():
    pieces = WordPiece(VOCABULARY, UNKNOWN, 3)
    assert pieces.encode("éé" + "é").tolist() == [VOCABULARY["é"]] + 2 * [VOCABULARY["##é"]]
    assert pieces.encode("éééé").tolist() == [UNKNOWN]
    assert pieces.encode("a" * 100_000).tolist() == [UNKNOWN]
    assert pieces.encode("é" * 1024).tolist() == [UNKNOWN]
    longest = WordPiece(VOCABULARY, UNKNOWN, 1024)
    assert len(longest.encode("é" * 1024)) == 1024
    assert longest.encode("é" * 1025).tolist() == [UNKNOWN]


def test_tokens_too_long_to_be_found_and_empty_ones_harm_nothing():
    pieces = WordPiece({"x" * 255: 1, "x" * 256: 2, "": 3, "##": 4, "x": 5}, 0, 300)
    assert pieces.encode("x" * 255).tolist() == [1]
    assert pieces.encode("x" * 256).tolist() == [0]
    assert WordPiece({}, 9).encode("a ! b").tolist() == [9, 9, 9]
    assert pieces.encode("").tolist() == []


def test_what_is_out_of_range_is_refused():
    for wrong in (0, 1025):
        with pytest.raises(ValueError, match=r"max_word_chars is \d+, outside 1\.\.1024"):
            WordPiece(VOCABULARY, UNKNOWN, wrong)
    with pytest.raises(UnicodeEncodeError):
        WordPiece(VOCABULARY, UNKNOWN).encode("\ud800")
    once = WordPiece(VOCABULARY, UNKNOWN)
    with pytest.raises(ValueError, match="once"):
        once.__init__(VOCABULARY, UNKNOWN)
