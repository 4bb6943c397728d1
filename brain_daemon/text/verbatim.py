"""Whether a text holds some words exactly, letter by letter, where the index knows stems only.

Here: folding, and looking for whole words in what is folded. Not here: which texts to look at
(the full-text index names the candidates). Layer: text.
"""

import re
import unicodedata

from brain_daemon.text.analyzer import LETTERS_WITH_MARKS, UNSPACED

_unspaced = re.compile(f"[{UNSPACED}]")
_AS_ASCII = str.maketrans({"’": "'", "ʼ": "'", "‐": "-", "‑": "-", "−": "-"})


def fold(text: str) -> str:
    """Drop what two spellings of the same words may differ in.

    Case, compatibility forms, accents, invisible characters, curly apostrophes and hyphens, and how
    much white space there is. ``Straße`` and ``STRASSE`` are the same, ``naïve`` and ``naive``, and
    words on two lines and on one.
    """
    if text.isascii():
        return " ".join(text.lower().split())
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", text).casefold())
    kept = [
        char
        for composed in folded.translate(_AS_ASCII)
        for char in _apart(composed)
        if char.isascii() or not _is_dropped(char)
    ]
    return " ".join(unicodedata.normalize("NFC", "".join(kept)).split())


def holds(text: str, words: str) -> bool:
    """Tell whether ``words`` stand in ``text`` as whole words; both are taken as they are.

    A word ends where no letter, digit, underscore or mark follows. Scripts without spaces have no
    such ends: there any place is one.
    """
    start = text.find(words)
    while start >= 0:
        end = start + len(words)
        if not (
            _joins(text[start - 1 : start], words[0]) or _joins(words[-1], text[end : end + 1])
        ):
            return True
        start = text.find(words, start + 1)
    return False


def _joins(left: str, right: str) -> bool:
    """Whether two neighbours (or nothing and one) belong to one word."""
    return bool(left and right) and _is_of_word(left) and _is_of_word(right)


def _is_of_word(char: str) -> bool:
    if char.isalnum() or char == "_":
        return not _unspaced.match(char)
    return unicodedata.category(char)[0] == "M"


def _apart(char: str) -> str:
    """A character and its marks, but for what is a letter in its own right, as in the index."""
    return char if char in LETTERS_WITH_MARKS else unicodedata.normalize("NFD", char)


def _is_dropped(char: str) -> bool:
    """Accents and points, as in the index, and format characters; not the vowel signs of Indic."""
    if "\ufe00" <= char <= "\ufe0f":  # variation selectors
        return True
    combining = unicodedata.combining(char)
    return 10 <= combining <= 36 or combining >= 200 or unicodedata.category(char) == "Cf"
