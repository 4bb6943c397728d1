import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_daemon.text.verbatim import fold, holds


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("naïve", "NAIVE"),
        ("nai\u0308ve", "naïve"),
        ("İstanbul", "istanbul"),
        ("ﬁle ①", "file 1"),
        ("don’t", "don't"),
        ("zero\u200bwidth", "zerowidth"),
        ("two\n\t lines", "two  lines"),
        ("ＦＵＬＬ", "full"),
        ("❤\ufe0f", "❤"),
        ("가", "가"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
    ],
)
def test_spellings_of_the_same_words(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"), [("कि", "क"), ("bank", "banks"), ("C++", "C"), ("мой", "мои"), ("їжа", "іжа")]
)
def test_other_words_stay_others(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@given(st.text())
def test_folding_is_idempotent_and_forgets_how_characters_are_composed(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    assert fold(unicodedata.normalize("NFD", text)) == folded


@pytest.mark.parametrize(
    ("text", "words", "there"),
    [
        ("mind the gap", "the gap", True),
        ("mind the gaps", "the gap", False),
        ("mind the-gap", "the", True),
        ("bathe, the", "the", True),
        ("bathe", "the", False),
        ("foo_bar", "foo", False),
        ("他喜欢成语接龙", "成语", True),
        ("कि", "क", False),
        ("see a::b.", "a::b", True),
        ("see aa::b", "a::b", False),
        ("party🎉!", "party", True),
        ("", "a", False),
    ],
)
def test_words_are_whole(text: str, words: str, there: bool) -> None:
    assert holds(text, words) is there
