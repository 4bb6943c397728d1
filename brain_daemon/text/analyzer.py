"""Text to lexical terms, for the index and for queries alike.

Here: splitting, folding, stemming, stop words. Not here: ranking, FTS5's query syntax (the terms
are plain strings; nothing a user types is ever an operator), entity names (``text.names``).

A *surface* is a maximal run of characters that may belong together (``foo_bar.baz``, ``C++``,
``don't``, a sentence of Chinese). Splitting it into surfaces is one regular expression; what a
surface means is worked out once and cached, because text repeats its words. The meaning of a
surface depends on nothing around it, so that index, query and highlights agree by construction.

The rules, for each surface:

* Words are folded: compatibility forms unified, case and accents dropped, zero-width characters
  removed. Folded words of letters only are stemmed (Snowball). Accents go before stemming, so that
  a word typed without them has the same stem.
* Compounds give their parts (``foo``, ``bar``, ``baz``) and, as extra terms, the whole
  (``foo_bar.baz``) and what has humps in it (``github`` of ``GitHub.com``, beside ``git`` and
  ``hub``). One letter with ``++`` or ``#`` is a part of its own: C++ is not C.
* Scripts written without spaces give single characters, and bigrams as extra terms. A query of two
  or more such characters asks for the bigrams only.
* Emoji are terms, without presentation selectors and skin tones; joined sequences give their parts
  and the whole; two regional indicators are one flag.
"""

import re
import unicodedata
from collections.abc import Iterator, Set
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import Stemmer

from brain_daemon._ext import excerpt
from brain_daemon._ext.words import split_compound
from brain_daemon.errors import BadRequest
from brain_daemon.model import Terms
from brain_daemon.text.stopwords import STOP_WORDS

ANALYZER_VERSION = 2  # stored with the index; raise it when any text gives other terms

FTS5_TOKENIZE = """'ascii tokenchars ''!"#$%&''''()*+,-./:;<=>?@[\\]^_`{|}~'''"""
"""SQL literal for FTS5's ``tokenize=``: splits terms at spaces and nowhere else."""

MAX_TERM_CHARS = 64
_GENERATION_ENTRIES = 10_000  # the cache holds two
_CACHED_CHARS = 40  # longer surfaces hardly ever repeat
_BEGINNING_CHARS = 6
_TRAILING = ".:'"  # a word before it is the same word
# Languages whose stems begin as their words do; see `_beginnings`.
_KEEP_BEGINNINGS = frozenset({"english", "none"})
_IRREGULAR = {"die": "dy", "lie": "ly", "tie": "ty"}

_SPACE = r"\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_ASCII_BREAKS = r"!\"()*,;<=>?\[\]^`{|}"
# Common marks of other scripts; those not listed are dropped when the surface is analysed.
_WIDE_BREAKS = "“”„‘‚«»‹›–—―…•、。《》「」『』【】！（），：；？"
_surfaces = re.compile(f"[^{_SPACE}{_ASCII_BREAKS}{_WIDE_BREAKS}]+")
_IS_BREAK = np.zeros(0x10000, np.bool_)
_IS_BREAK[list(map(ord, _surfaces.sub("", "".join(map(chr, range(0x10000))))))] = True
_BREAK_BITS = np.packbits(_IS_BREAK, bitorder="little").tobytes()

UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff"  # Thai, Lao, Burmese, Jamo, Khmer
    r"\u3005-\u3007\u3040-\u30fa\u30fc-\u31bf\u31f0-\u31ff"  # kana, Bopomofo, compatibility Jamo
    r"\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"  # Han, Hangul
    r"\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff"  # compatibility forms, rarer Han
)
_SYMBOL = (
    r"[\xa2-\xa5\xa9\xae\u203c\u2049\u20a0-\u20bf\u2122\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff"
    r"\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff]"
)
_TONE = r"[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]*"
_INVISIBLE = r"\u200b-\u200d\u2060\ufeff\ufe00-\ufe0f\U000e0100-\U000e01ef"
_pieces = re.compile(
    f"(?P<unspaced>[{UNSPACED}][{UNSPACED}{_INVISIBLE}]*)"
    rf"|(?P<emoji>[\U0001f1e6-\U0001f1ff]{{2}}|{_SYMBOL}{_TONE}(?:\u200d{_SYMBOL}{_TONE})*)"
)
# A character with what composes with it: marks, voicing marks, the vowels and finals of Jamo.
_clusters = re.compile(r".[\u3099\u309a\uff9e\uff9f\u1160-\u11ff\uffa0-\uffdc]*", re.DOTALL)
_emoji_parts = re.compile(rf"[\U0001f1e6-\U0001f1ff]{{2}}|{_SYMBOL}")

# After _plain(), whatever is not ASCII belongs to a word.
_compounds = re.compile(f"[^{_SPACE}{_ASCII_BREAKS}]+")
_unstemmed = re.compile(r"[\d!-/:-@\[-`{-~]")
_mark = re.compile(r"[^0-9a-z]")
_possessive = re.compile(r"'[sS](?![0-9A-Za-z\x80-\U0010ffff])")

LETTERS_WITH_MARKS = frozenset("йЙїЇ")  # letters in their own right, and to the Snowball stemmers
_KEPT_CODES = 0x3000  # below: the alphabets; above: scripts that come here in rare forms only
_AS_ASCII = {"’": "'", "ʼ": "'", "‐": "-", "‑": "-", "−": "-"}


Span = tuple[int, int, tuple[str, ...]]  # start, end, terms
Entry = tuple[str, str, str]  # of a surface, space-joined: body terms, extra terms, query terms


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """What a query asks of the lexical index.

    Attributes
    ----------
    terms : tuple of str
        In the order of the text, without duplicates; empty if nothing in it is searchable.
    joined : bytes
        The same, UTF-8, one space between terms.
    """

    terms: tuple[str, ...]
    joined: bytes


class Analyzer:
    """Turns text into terms.

    Thread-safe under the GIL. One instance holds a cache of at most 20,000 surfaces (about 5 MB).

    Parameters
    ----------
    language : str
        A Snowball language, or ``"none"`` for no stemming and no stop words.

    Raises
    ------
    BadRequest
        If there is no such language.
    """

    def __init__(self, language: str = "english") -> None:
        known = Stemmer.algorithms()
        if language != "none" and language not in known:
            raise BadRequest(
                f"language is {language!r}; give one of none, {', '.join(sorted(known))}"
            )
        self.language = language
        self.entry = _Cache(language).__getitem__

    def index(self, title: str, body: str) -> Terms:
        """Analyse a chunk for the index.

        Parameters
        ----------
        title, body : str
            Any text.

        Returns
        -------
        Terms
            ``title`` and ``body`` in text order; ``extra`` has the wholes of compounds and the
            bigrams of both, the title's first.
        """
        in_title = list(map(self.entry, _surfaces.findall(title)))
        in_body = list(map(self.entry, _surfaces.findall(body)))
        return Terms(
            title=" ".join([entry[0] for entry in in_title if entry[0]]),
            body=" ".join([entry[0] for entry in in_body if entry[0]]),
            extra=" ".join([entry[1] for entry in in_title + in_body if entry[1]]),
        )

    def query(self, text: str) -> QueryTerms:
        """Analyse a query: any text, never an error.

        Stop words are dropped unless the query has nothing else.
        """
        entries = list(map(self.entry, _surfaces.findall(text)))
        joined = " ".join([entry[2] for entry in entries if entry[2]])
        if not joined:
            joined = " ".join([part for entry in entries for part in entry[:2] if part])
        if not joined:
            return QueryTerms((), b"")
        terms = tuple(dict.fromkeys(joined.split(" ")))
        return QueryTerms(terms, " ".join(terms).encode())

    def spans(self, text: str) -> Iterator[Span]:
        """Find where the terms of a text stand in it.

        Yields
        ------
        start, end : int
            Character offsets, ascending by start. A compound or a word is one span; in scripts
            without spaces each character is one, and each pair of neighbours another.
        terms : tuple of str
            Every term of the span, stop words included.
        """
        for match in _surfaces.finditer(text):
            yield from self.surface_spans(match.start(), match.group())

    def highlighter(self, terms: Set[str]) -> "Highlighter":
        """Give what finds the stretches of texts that gave one of some terms."""
        return Highlighter(self, terms)

    def surface_spans(self, start: int, surface: str) -> Iterator[Span]:
        """Find the spans of a surface, as `spans` does, where it stands at ``start``."""
        if surface.isascii() and surface.isalnum():
            yield start, start + len(surface), _terms(self.entry(surface))
            return
        for offset, piece, kind in _split(surface):
            if kind == "unspaced":
                yield from _unspaced_spans(start + offset, piece)
            elif terms := _terms(self.entry(piece)):
                first, last = _core(piece) if kind is None else (0, len(piece))
                yield start + offset + first, start + offset + last, terms


class Highlighter:
    """Finds the stretches of texts that gave one of some terms.

    The same as filtering `Analyzer.spans`, several times faster: only surfaces that begin like a
    term are looked at, and each of them once, whatever the number of texts that hold it.

    Parameters
    ----------
    analyzer : Analyzer
    terms : set of str
        For example those of a query.
    """

    def __init__(self, analyzer: Analyzer, terms: Set[str]) -> None:
        self._beginnings: tuple[str, ...] | None = None
        if analyzer.language in _KEEP_BEGINNINGS:
            self._beginnings = tuple(sorted({part for term in terms for part in _beginnings(term)}))
        self._spans = _WantedSpans(analyzer, terms)

    def find(self, text: str) -> list[tuple[int, int]]:
        """Find them in a text: character offsets, ascending, without overlap."""
        return excerpt.find(text, self._beginnings, _BREAK_BITS, self._spans)


class _WantedSpans(dict[str, list[tuple[int, int]]]):
    """Surface to the stretches of it that gave one of some terms, worked out on access."""

    def __init__(self, analyzer: Analyzer, terms: Set[str]) -> None:
        super().__init__()
        self._analyzer = analyzer
        self._terms = terms

    def __missing__(self, surface: str) -> list[tuple[int, int]]:
        spans = self[surface] = self._find(surface)
        return spans

    def _find(self, surface: str) -> list[tuple[int, int]]:
        body, extra, _ = self._analyzer.entry(surface)
        if body not in self._terms and (
            not (extra or " " in body) or self._terms.isdisjoint(f"{body} {extra}".split(" "))
        ):
            return []
        core = surface.rstrip(_TRAILING)
        if core.isascii() and core.isalnum():
            return [(0, len(core))]
        found: list[tuple[int, int]] = []
        for start, end, at in self._analyzer.surface_spans(0, surface):
            if self._terms.isdisjoint(at):
                continue
            if found and start < found[-1][1]:
                start, end = found[-1][0], max(end, found.pop()[1])
            found.append((start, end))
        return found


class _Cache(dict[str, Entry]):
    """Surface to entry; an absent surface is analysed on access.

    When full it becomes the older of two generations: what is asked again moves to the younger,
    so that common words stay and rare ones leave.
    """

    def __init__(self, language: str) -> None:
        super().__init__()
        self._older: dict[str, Entry] = {}
        self._stop_words = STOP_WORDS.get(language, frozenset())
        # Our cache is above the stemmer's, and without its own the stemmer keeps no state.
        self._stem_word = None if language == "none" else Stemmer.Stemmer(language, 0).stemWord

    def __missing__(self, surface: str) -> Entry:
        core = surface.rstrip(_TRAILING)
        if core != surface and core.isascii() and core.isalpha():
            return self[core]
        entry = self._older.get(surface) or self._analyse(surface)
        if len(surface) <= _CACHED_CHARS:
            if len(self) >= _GENERATION_ENTRIES:
                self._older = dict(self)
                self.clear()
            self[surface] = entry
        return entry

    def _analyse(self, surface: str) -> Entry:
        if surface.isascii() and surface.isalpha() and _has_no_hump(surface):
            word = surface.lower()
            term = self._term(word)
            return term, "", "" if word in self._stop_words else term
        body: list[str] = []
        extra: list[str] = []
        query: list[str] = []
        for _, piece, kind in _split(surface):
            if kind == "unspaced":
                singles = [char for _, _, char in _unspaced(piece)]
                bigrams = [a + b for a, b in pairwise(singles)]
                body += singles
                extra += bigrams
                query += bigrams or singles
            elif kind == "emoji":
                parts = _emoji_parts.findall(piece)
                whole = parts if len(parts) == 1 else ["".join(parts)]
                body += parts
                extra += whole if len(parts) > 1 else []
                query += parts + whole
            else:
                for compound in _compounds.findall(_plain(piece)):
                    self._compound(compound, body, extra, query)
        joined = " ".join(body)
        asked = " ".join(query)
        return joined, " ".join(extra), joined if asked == joined else asked

    def _compound(self, compound: str, body: list[str], extra: list[str], query: list[str]) -> None:
        whole, words, wholes = split_compound(_possessive.sub("", compound))
        terms = list(map(self._term, words))
        body += terms
        if wholes:
            wholes = list(map(self._term, wholes))
            extra += wholes
        if whole not in self._stop_words:
            asked = zip(words, terms, strict=True)
            query += [term for word, term in asked if word not in self._stop_words]
            query += wholes

    def _term(self, word: str) -> str:
        """Stem a folded word or keep a whole; bound its length by the same rule on both sides."""
        if len(word) > MAX_TERM_CHARS:
            digest = blake2b(word.encode(), digest_size=8).hexdigest()
            return f"{word[: MAX_TERM_CHARS - 1 - len(digest)]}~{digest}"
        if self._stem_word is None or _unstemmed.search(word):
            return word
        return self._stem_word(word) or word


def _beginnings(term: str) -> tuple[str, ...]:
    """What a lower-case ASCII word of this stem begins with: the stem, but for its last letter."""
    if not term.isascii():
        return ()
    mark = _mark.search(term, 0, _BEGINNING_CHARS)
    if mark:  # "Who's-Who" gives "who-who"
        return term[: mark.end()], term[: mark.start()] + "'s"
    beginning = term[: max(2, min(len(term) - 1, _BEGINNING_CHARS))]
    return (beginning, _IRREGULAR[term]) if term in _IRREGULAR else (beginning,)


def _has_no_hump(word: str) -> bool:
    return word[1:].islower() or word.isupper() or word.islower()


def _split(surface: str) -> Iterator[tuple[int, str, str | None]]:
    """Cut a surface into (start, piece, "unspaced" | "emoji" | None for words)."""
    if surface.isascii():
        yield 0, surface, None
        return
    pending = 0  # start of the run of word characters not yet given out
    for match in _pieces.finditer(surface):
        if pending < match.start():
            yield pending, surface[pending : match.start()], None
        yield match.start(), match.group(), match.lastgroup
        pending = match.end()
    if pending < len(surface):
        yield pending, surface[pending:], None


def _plain(piece: str) -> str:
    """Unify compatibility forms and drop accents; what is no part of a word becomes a space."""
    if piece.isascii():
        return piece
    composed = unicodedata.normalize("NFC", piece)
    return unicodedata.normalize("NFC", composed.translate(_PLAIN))


class _Plain(dict[int, str]):
    """Code point of a composed character to what it becomes in plain text, worked out on access."""

    def __missing__(self, code: int) -> str:
        plain = self._of(chr(code))
        if code < _KEPT_CODES:
            self[code] = plain
        return plain

    def _of(self, composed: str) -> str:
        if composed in LETTERS_WITH_MARKS:
            return composed
        kept = ""
        for char in unicodedata.normalize("NFKD", composed):
            if char.isascii() or char.isalnum() or char in _AS_ASCII:
                kept += _AS_ASCII.get(char, char)
            elif _is_mark(char):
                kept += "" if _is_accent(char) else char
            elif unicodedata.category(char) != "Cf":
                kept += " "
        return kept


_PLAIN = _Plain()


def _unspaced(run: str) -> list[tuple[int, int, str]]:
    """Cut a run of an unspaced script into (start, end, single character), in composed form."""
    return [
        (match.start(), match.end(), char)
        for match in _clusters.finditer(run)
        for char in unicodedata.normalize("NFKC", match.group())
        if char.isalnum() or (_is_mark(char) and not _is_accent(char))
    ]


def _unspaced_spans(start: int, run: str) -> Iterator[Span]:
    singles = _unspaced(run)
    for index, (first, last, char) in enumerate(singles):
        yield start + first, start + last, (char,)
        if index + 1 < len(singles):
            _, after, following = singles[index + 1]
            yield start + first, start + after, (char + following,)


def _core(piece: str) -> tuple[int, int]:
    """Bounds of a word or compound without the punctuation around it."""
    first, last = 0, len(piece)
    while first < last and not piece[first].isalnum():
        first += 1
    while first < last and not (piece[last - 1].isalnum() or _is_mark(piece[last - 1])):
        last -= 1
    if first == last:
        return 0, len(piece)
    while last < len(piece) and piece[last] in "+#":
        last += 1
    return first, last


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def _is_accent(mark: str) -> bool:
    """Whether a mark is no more than an accent, a point or a presentation form.

    The vowel signs, viramas and nuktas of Indic scripts have classes 0 to 9, Thai and Lao vowels
    and tones 103 to 122, and are part of the word; Hebrew and Arabic points have 10 to 36, accents
    200 and more.
    """
    combining = unicodedata.combining(mark)
    if combining:
        return 10 <= combining <= 36 or combining >= 200
    return unicodedata.category(mark) == "Me" or unicodedata.name(mark, "").startswith("VARIATION")


def _terms(entry: Entry) -> tuple[str, ...]:
    body, extra, _ = entry
    joined = f"{body} {extra}" if extra else body
    return tuple(joined.split(" ")) if joined else ()
