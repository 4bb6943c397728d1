"""Does a text say what a claim says? Word for word, deterministic, no model.

"Supported" is about wording, not about truth: the claim's words stand in the text, in their order,
with nothing between them, and nothing around them turns them round. Words are compared by Unicode's
canonical caseless matching, so nothing is stemmed, and digits, accents and symbols count. What
paraphrases the text is not supported; what differs from it in a number or a negation never is.

Every comparison is of whole words (UAX #29), whose bounds in the text are known, so the ranges are
exact whatever folding does to lengths (``İ``, ``ß``, combining marks).

References
----------
The Unicode Standard, section 3.13, D145. UAX #29, Unicode Text Segmentation.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from apsw import unicode as segmentation

from brain_daemon.errors import BadRequest

MAX_CLAIM_CHARS = 4096
MAX_RANGES = 32

Decision = Literal[
    "verbatim", "terms_covered", "negation_differs", "number_differs", "partial", "not_found"
]
SUPPORTING = frozenset({"verbatim", "terms_covered"})

Bounds = tuple[int, int]  # of tokens: first, and one past the last

# One line break inside a paragraph is white space; two, or one before a list, end a sentence.
_SOFT_BREAK = re.compile(r"(?<!\n)\n(?![\n#>|*+-]|\d+[.)])")
_CLAUSE_END = re.compile(r"[;:；：\n]")
_PAUSE = re.compile(r"[^\w\s'’_*`]|\n")
_JOINED = "-‐‑–−%‰/\\#&@"  # punctuation to Unicode, part of what a number or name says
_OF_TIME = re.compile(r":")  # between two numbers: 10:30
_THOUSANDS = re.compile(r"[ \xa0\u2009\u202f]")  # one of them before three digits: 1 500
_ASKED = re.compile(r"[?？؟;][\s\"'”’»)\]*_]*$")
# What follows a word and turns it round, in scripts that do not part words.
_ENDINGS = ("ない", "なかった", "ません", "なく", "ず", "ぬ")


def _fold(text: str) -> str:
    """Fold for canonical caseless matching, without format characters and curly apostrophes."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())
    kept = (char for char in folded if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFD", "".join(kept)).replace("’", "'")


def _words(listed: str) -> frozenset[str]:
    return frozenset(map(_fold, listed.split()))


_ARTICLES = _words("a an the")
# What turns a statement round, or makes it a condition, when it stands before it.
_TURNING = _words(
    "not no never none nobody nothing neither nor nowhere without cannot hardly scarcely barely "
    "rarely seldom almost nearly minus doubt doubts doubted doubtful unlikely allegedly supposedly "
    "false falsely untrue wrong wrongly deny denies denied denying refuse refuses refused fail "
    "fails failed if unless whether "
    "nicht kein keine keinen keinem keiner nie niemals niemand nichts ohne falsch falls "
    "ne pas jamais aucun aucune rien sans faux nunca jamás ningún ninguna nadie nada sin falso "
    "não nenhum nenhuma ninguém sem non mai nessuno niente senza "
    "не нет ни никогда никто ничего без если "
    "不 没 沒 無 无 未 非 否 别 別 안 못 نه لا ليس לא"
)
_KOREAN_NOT = _fold("않")
_COORDINATING = _words(
    "and but or so yet und aber oder sondern et mais ou car y pero e o mas ma и но а"
)
_CONJUNCTIONS = _COORDINATING | _words(
    "because while when where who which that as weil wenn dass que qui quand"
)
_MAGNITUDES = _words(
    "hundred thousand million millions billion billions trillion dozen percent per k m bn mn tn "
    "tausend million millionen milliarde milliarden prozent mille mil millones milhões "
    "万 亿 億 千 百"
)


class Token(NamedTuple):
    """A word, or a symbol, of a text."""

    start: int
    end: int
    folded: str
    is_word: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `verify` found; ``match_ranges`` are byte ranges into the text's UTF-8, ascending."""

    decision: Decision
    match_ranges: list[list[int]]

    def record(self) -> dict[str, Any]:
        """Give it as the wire has it."""
        return {
            "supported": self.decision in SUPPORTING,
            "decision": self.decision,
            "match_ranges": self.match_ranges,
        }


def verify(text: str, claim: str, stop_words: Collection[str] = ()) -> Verdict:
    """Look for a claim in a text.

    Parameters
    ----------
    text : str
    claim : str
        At least one word.
    stop_words : collection of str
        Words that alone make no claim partial.

    Returns
    -------
    Verdict
        ``verbatim``: the claim stands there but for case, white space and the punctuation around
        it. ``terms_covered``: its words do, in one sentence, other punctuation or articles between.
        ``negation_differs``: its words do, but a negation, condition or question turns them round,
        or one of the two has a negation that the other lacks. ``number_differs``: a sentence has
        all its other words and not its numbers, or a longer number where the claim has a part of
        it. ``partial``: a sentence has some of its words. ``not_found``: none has.
        At most 32 ranges: of what was found, or of the claim's words in the sentence that has most.

    Raises
    ------
    BadRequest
        The claim has no word.
    """
    wanted = _tokens(claim)
    if not any(token.is_word for token in wanted):
        raise BadRequest(f"claim is {claim[:80]!r} and has no word to look for", field="claim")
    passage = _Passage(text)
    turned: set[Bounds] = set()
    cut_numbers: set[Bounds] = set()
    covered: list[Bounds] = []
    verbatim: list[Bounds] = []
    asks = bool(_ASKED.search(claim))
    literal = _collapsed(claim[wanted[0].start : wanted[-1].end])
    for without in (frozenset(), _ARTICLES):
        for first, last in passage.occurrences(wanted, without):
            if passage.is_torn(first, last):
                if passage.has_number_at_edge(first, last):
                    cut_numbers.add((first, last))
            elif passage.is_turned(first, last) or (not asks and passage.is_asked(last - 1)):
                turned.add((first, last))
            elif not without and _collapsed(passage.slice(first, last)) == literal:
                verbatim.append((first, last))
            elif passage.sentence[first] == passage.sentence[last - 1]:
                covered.append((first, last))
        if verbatim:
            return Verdict("verbatim", passage.byte_ranges(verbatim))
        if covered:
            return Verdict("terms_covered", passage.byte_ranges(covered))
    if turned:
        return Verdict("negation_differs", passage.byte_ranges(sorted(turned)))
    if cut_numbers:
        return Verdict("number_differs", passage.byte_ranges(sorted(cut_numbers)))
    return _resemblance(passage, wanted, stop_words)


def _resemblance(passage: "_Passage", wanted: list[Token], stop_words: Collection[str]) -> Verdict:
    """Say what keeps the nearest sentence from supporting a claim."""
    ignored = _ARTICLES | _words(" ".join(stop_words))
    terms = {token.folded for token in wanted} - ignored or {token.folded for token in wanted}
    numbers = {term for term in terms if _is_number(term)}
    turning = {term for term in terms if _turns(term)}
    present: dict[int, set[str]] = {}
    for token, sentence in zip(passage.tokens, passage.sentence, strict=True):
        if token.folded in terms and token.is_word:
            present.setdefault(sentence, set()).add(token.folded)
    if not present:
        return Verdict("not_found", [])
    best = max(present, key=lambda sentence: (len(present[sentence]), -sentence))
    here = [i for i, sentence in enumerate(passage.sentence) if sentence == best]
    found = present[best]
    decision: Decision = "partial"
    if found >= {term for term in terms if term[0].isalnum()} - numbers - turning:
        turning_here = {t for i in here if _turns(t := passage.tokens[i].folded)}
        if not numbers <= found:
            decision = "number_differs"
        elif turning != turning_here:
            decision = "negation_differs"
    ranges: list[Bounds] = []
    for i in here:
        if passage.tokens[i].folded in terms:
            joined = bool(ranges) and ranges[-1][1] == i
            ranges.append((ranges.pop()[0] if joined else i, i + 1))
    return Verdict(decision, passage.byte_ranges(ranges))


class _Passage:
    """A text cut into tokens, with the sentence and the clause of each."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        starts = [
            start
            for start, _, _ in _pieces(
                segmentation.sentence_iter_with_offsets, _SOFT_BREAK.sub(" ", text)
            )
        ]
        self._ends = [*starts[1:], len(text)]
        self.sentence = [bisect_right(starts, token.start) for token in self.tokens]
        self._scope: list[int] = []  # the first token whose negation reaches this one
        self._turning = [0]  # how many tokens before this one turn a statement round
        for i, token in enumerate(self.tokens):
            self._scope.append(i if self._begins_clause(i) else self._scope[-1])
            self._turning.append(self._turning[-1] + _turns(token.folded))

    def slice(self, first: int, last: int) -> str:
        return self.text[self.tokens[first].start : self.tokens[last - 1].end]

    def occurrences(self, wanted: list[Token], without: Collection[str]) -> Iterator[Bounds]:
        """Find where the wanted tokens stand next to one another, leaving some words out."""
        kept = [i for i, token in enumerate(self.tokens) if token.folded not in without]
        needle = [token.folded for token in wanted if token.folded not in without]
        if not needle:
            return
        # A separator that no token holds makes one search of it, in C.
        haystack = "\0" + "\0".join(self.tokens[i].folded for i in kept) + "\0"
        starts = [0]
        for i in kept:
            starts.append(starts[-1] + len(self.tokens[i].folded) + 1)
        joined = "\0" + "\0".join(needle) + "\0"
        at = haystack.find(joined)
        while at >= 0:
            first = bisect_right(starts, at) - 1
            yield kept[first], kept[first + len(needle) - 1] + 1
            at = haystack.find(joined, at + len(joined) - 1)

    def is_torn(self, first: int, last: int) -> bool:
        """Whether a stretch is cut out of something longer: C of C++, 5 of -5, 5 of 5 million."""
        if self._goes_on(first) or self._goes_on(last):
            return True
        if first and self._touches(first - 1) and not self.tokens[first - 1].is_word:
            return True
        if last == len(self.tokens):
            return False
        following = self.tokens[last]
        if self._touches(last - 1) and not following.is_word:
            return True
        return (
            _is_number(self.tokens[last - 1].folded)
            and (following.folded in _MAGNITUDES or following.folded in _JOINED)
            and not _PAUSE.search(self._gap(last))
        )

    def _goes_on(self, i: int) -> bool:
        """Whether one number begins before a token and goes on with it."""
        if not 0 < i < len(self.tokens):
            return False
        left, right = self.tokens[i - 1].folded, self.tokens[i].folded
        if not (left[-1].isnumeric() and right[0].isnumeric()):
            return False
        gap = self._gap(i)
        is_group = len(right) == 3 and len(left) <= 3 and left.isdecimal()
        return bool(_OF_TIME.fullmatch(gap) or (is_group and _THOUSANDS.fullmatch(gap)))

    def has_number_at_edge(self, first: int, last: int) -> bool:
        return any(_is_number(self.tokens[i].folded) for i in (first, last - 1))

    def is_asked(self, i: int) -> bool:
        """Whether the sentence of a token is a question."""
        end = self._ends[self.sentence[i] - 1]
        return bool(_ASKED.search(self.text, self.tokens[i].end, end))

    def is_turned(self, first: int, last: int) -> bool:
        """Whether a negation or condition stands before a stretch in its clause, or right after."""
        if self.text.startswith(_ENDINGS, self.tokens[last - 1].end):
            return True
        if self._turning[first] > self._turning[self._scope[first]]:
            return True
        for i in range(last, min(last + 2, len(self.tokens))):
            token = self.tokens[i]
            if (
                self.sentence[i] != self.sentence[last - 1]
                or token.folded in _CONJUNCTIONS
                or _PAUSE.search(self._gap(i))
            ):
                return False
            if _turns(token.folded):
                return True
        return False

    def byte_ranges(self, bounds: list[Bounds]) -> list[list[int]]:
        """Give the UTF-8 byte ranges of stretches of tokens in order; overlapping ones are one."""
        apart: list[Bounds] = []
        for first, last in bounds:
            if apart and first < apart[-1][1]:
                first, last = apart[-1][0], max(last, apart.pop()[1])
            apart.append((first, last))
        ranges = []
        chars = n_bytes = 0
        for first, last in apart[:MAX_RANGES]:
            start, end = self.tokens[first].start, self.tokens[last - 1].end
            begin = n_bytes + len(self.text[chars:start].encode())
            n_bytes = begin + len(self.text[start:end].encode())
            chars = end
            ranges.append([begin, n_bytes])
        return ranges

    def _begins_clause(self, i: int) -> bool:
        if not i or self.sentence[i] != self.sentence[i - 1]:
            return True
        gap = self._gap(i)
        if _CLAUSE_END.search(_SOFT_BREAK.sub(" ", gap)):
            return True
        return bool(_PAUSE.search(gap)) and self.tokens[i].folded in _COORDINATING

    def _gap(self, i: int) -> str:
        """What stands between a token and the one before it."""
        return self.text[self.tokens[i - 1].end : self.tokens[i].start]

    def _touches(self, i: int) -> bool:
        return self.tokens[i].end == self.tokens[i + 1].start


def _tokens(text: str) -> list[Token]:
    """Cut a text into words and the symbols that count; punctuation and emphasis are left out."""
    tokens: list[Token] = []
    reached = 0
    for start, end, word in _pieces(segmentation.word_iter_with_offsets, text):
        tokens += _symbols(text, reached, start)
        reached = end
        core = word.strip("_")  # emphasis, which UAX #29 takes for part of the word
        start += word.index(core)
        tokens.append(Token(start, start + len(core), _fold(core), True))
    tokens += _symbols(text, reached, len(text))
    return tokens


def _pieces(cut: Callable[[str], Any], text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and text of each piece; apsw's own annotations say otherwise."""
    return iter(cut(text))


def _symbols(text: str, start: int, end: int) -> Iterator[Token]:
    for i in range(start, end):
        char = text[i]
        if char in _JOINED or (char not in "`^" and unicodedata.category(char)[0] == "S"):
            last = i + 1
            while last < end and unicodedata.category(text[last])[0] == "M":
                last += 1
            yield Token(i, last, char, False)


def _collapsed(text: str) -> str:
    return " ".join(_fold(text).split())


def _is_number(term: str) -> bool:
    return any(char.isnumeric() for char in term)


def _turns(folded: str) -> bool:
    return folded in _TURNING or folded.endswith("n't") or folded.startswith(_KOREAN_NOT)
