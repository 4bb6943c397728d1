"""How sure an answer may be, from what the legs measured and never from the fused score.

A logistic estimator over a handful of signals, the same for a whole answer (its first hits taken
together) and for one hit (taken alone). It tells questions that a store can answer from questions
about somebody else, about something else, and from nonsense. It does not know whether the fact
itself is there: that the same people talked about the same thing is all that it sees.

The coefficients are those that ``tools/fit_confidence.py`` printed; docs/confidence.md has its
figures. Arithmetic is on integers and on Python floats in one order: the same bits on every
machine.

References
----------
Platt, "Probabilistic outputs for support vector machines", 1999 (the logistic map to confidence).
El-Yaniv and Wiener, "On the foundations of noise-free selective classification", 2010 (risk and
coverage).
"""

import re
from collections.abc import Callable, Sequence
from functools import reduce
from math import exp, fsum, log1p
from operator import mul, or_
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from brain_daemon._ext import bm25
from brain_daemon.index.snapshot import Snapshot
from brain_daemon.text.analyzer import Analyzer, QueryTerms

Relevance = Literal["low", "medium", "high"]

ASSESSED = 5  # the first hits, whatever k is: k decides what is shown, not what is believed

# Of the chunks with a word, those in which it is written as a name: below, it is none ("Love").
NAME_SHARE = 0.7
_HEAVIEST = 1024  # the weight of a question's heaviest term; integers, so that sums are exact

# Dates are asked for far more often than they are written down beside the fact.
_DATES = frozenset(
    (
        *("january", "february", "march", "april", "may", "june", "july", "august"),
        *("september", "october", "november", "december", "monday", "tuesday", "wednesday"),
        *("thursday", "friday", "saturday", "sunday"),
    )
)
_CAPITALISE_NOUNS = frozenset({"german"})  # there a capital tells nothing
_word = re.compile(r"\w[\w'’.:/+#-]*")
_before_a_sentence = re.compile(r"[.!?:\"“‘\n]\s*$")


class Signals(NamedTuple):
    """What is measured of some hits: of an answer's first five, or of one.

    Attributes
    ----------
    cosine : float
        Best cosine of the question as asked, -1 to 1.
    coverage : float
        Best share of the question's terms, by their weights in the model, that one hit holds,
        0 to 1.
    support : float
        Mean of those shares: what a store can answer is seldom said only once. Where fewer hits
        than `ASSESSED` were found among more chunks, those that are not there hold nothing.
    bm25 : float
        Best BM25 score in the lexical leg's first pass, 0 for what that did not list.
    names_found : float
        Mean share, in the same way, of the question's names that the graph knows; 0 without.
    names_missing : float
        Share of its words written as names, but not known as such, that no hit holds; 0 without.
    linked : float
        1 if the graph knows any word of the question, else 0.
    size : float
        ``ln(1 + n)``, n the visible chunks: among many the best looks good by chance.
    """

    cosine: float
    coverage: float
    support: float
    bm25: float
    names_found: float
    names_missing: float
    linked: float
    size: float


# Printed by tools/fit_confidence.py.
INTERCEPT = -0.90
COEFFICIENTS = Signals(
    cosine=4.71,
    coverage=5.76,
    support=8.36,
    bm25=0.34,
    names_found=5.75,
    names_missing=-2.46,
    linked=1.71,
    size=-1.59,
)
THRESHOLD = 0.5  # of an answer, and of a hit of medium relevance: more likely than not
HIGH = 0.95  # of a hit of high relevance


class Question(Struct, frozen=True):
    """What a question asks for.

    Attributes
    ----------
    weights : ndarray of int64, shape (q,)
        Of its terms; the heaviest of those that the model knows weighs 1024.
    names : tuple of tuple of int
        Positions of the terms of each of its names: first those that the graph knows.
    n_known : int
        How many the graph knows.
    total : int
        Sum of the weights.
    linked : float
    size : float
        As in `Signals`.
    n_assessed : int
        Hits that an answer should have: `ASSESSED`, or all chunks where fewer are visible.
    """

    weights: npt.NDArray[np.int64]
    names: tuple[tuple[int, ...], ...]
    n_known: int
    total: int
    linked: float
    size: float
    n_assessed: int


class Evidence(Struct, frozen=True):
    """What hits have to show, in their order.

    Attributes
    ----------
    cosines : list of float
        With the question as asked.
    covered : list of int
        Summed weights of the question's terms that each holds.
    bm25 : list of float
        In the lexical leg's first pass.
    named : list of int
        Which of its names each holds: bit j for name j.
    """

    cosines: list[float]
    covered: list[int]
    bm25: list[float]
    named: list[int]

    @classmethod
    def of(
        cls,
        question: Question,
        cosines: list[float],
        present: npt.NDArray[np.bool_],
        bm25: list[float],
    ) -> "Evidence":
        """Weigh what hits hold; ``present``, of shape (m, q), tells which terms each does."""
        named = [0] * len(cosines)
        if question.names:
            columns = present.T.tolist()
            for j, name in enumerate(question.names):
                of_name = zip(*[columns[position] for position in name], strict=True)
                for i, held in enumerate(map(any, of_name)):
                    named[i] |= held << j
        return cls(cosines, (present @ question.weights).tolist(), bm25, named)


def read_question(
    q: str,
    terms: QueryTerms,
    term_ids: npt.NDArray[np.int32],
    lengths: Sequence[float],
    linked: Sequence[int],
    *,
    snapshot: Snapshot,
    n_visible: int,
    analyzer: Analyzer,
) -> Question:
    """Weigh the terms of a question and find its names.

    Parameters
    ----------
    q : str
    terms, term_ids
        Of ``q``.
    lengths : sequence of float
        Of the terms' vectors, 0 for one that the model does not know.
    linked : sequence of int
        Entity indices of the names that the graph knows and ``q`` holds, in whatever case.
    snapshot, n_visible, analyzer
    """
    longest = max(lengths, default=0.0) or 1.0
    weights = [max(1, round(_HEAVIEST * (length or longest) / longest)) for length in lengths]
    position = {term: i for i, term in enumerate(terms.terms)}

    def places(name: str) -> tuple[int, ...]:
        return tuple([position[t] for t in analyzer.query(name).terms if t in position])

    known = _names_by_use(linked, places, term_ids, snapshot) if linked else []
    taken = {place for name in known for place in name}
    written = dict.fromkeys(map(places, names(q, analyzer.language)))
    unknown = [name for name in written if name and taken.isdisjoint(name)]
    return Question(
        np.array(weights, np.int64),
        (*known, *unknown),
        len(known),
        sum(weights),
        float(bool(linked)),
        log1p(n_visible),
        min(ASSESSED, n_visible),
    )


def _names_by_use(
    linked: Sequence[int],
    places: Callable[[str], tuple[int, ...]],
    term_ids: npt.NDArray[np.int32],
    snapshot: Snapshot,
) -> list[tuple[int, ...]]:
    """Tell names from words that were once written like one: by how often they are."""
    degrees = snapshot.graph.degree[list(linked)].tolist()
    n_chunks = bm25.document_frequencies(snapshot.postings, term_ids, snapshot.rows.alive).tolist()
    found: dict[tuple[int, ...], None] = {}
    for index, degree in zip(linked, degrees, strict=True):
        name = places(snapshot.graph.key(index))
        if name and degree >= NAME_SHARE * min(n_chunks[place] for place in name):
            found[name] = None
    return list(found)


def names(q: str, language: str) -> list[str]:
    """Find words written as names are: with a capital inside a sentence, or as an identifier."""
    words = list(_word.finditer(q))
    capitals_tell = language not in _CAPITALISE_NOUNS and any(
        match.group()[0].islower() for match in words
    )
    return [match.group() for match in words if _is_name(q, match, capitals_tell)]


def _is_name(q: str, match: re.Match[str], capitals_tell: bool) -> bool:
    word = match.group()
    if word.isalpha() and not word[0].isupper():  # most words
        return False
    if "_" in word or (any(map(str.isdigit, word)) and any(map(str.isalpha, word))):
        return True
    return (
        capitals_tell
        and word[0].isupper()
        and match.start() > 0
        and not _before_a_sentence.search(q, 0, match.start())
        and word.lower().rstrip(".:'’") not in _DATES
    )


def measure(question: Question, evidence: Evidence) -> Signals:
    """Measure the first `ASSESSED` hits taken together; at least one."""
    return _measure(question, evidence, slice(ASSESSED), question.n_assessed)


def measure_hit(question: Question, evidence: Evidence, i: int) -> Signals:
    """Measure a hit by itself."""
    return _measure(question, evidence, slice(i, i + 1), 1)


def _measure(question: Question, evidence: Evidence, hits: slice, n_hits: int) -> Signals:
    covered, named = evidence.covered[hits], evidence.named[hits]
    total, n_known = question.total, question.n_known
    n_unknown = len(question.names) - n_known
    known = (1 << n_known) - 1
    n_found = sum([(of_hit & known).bit_count() for of_hit in named]) if n_known else 0
    n_missing = n_unknown - (reduce(or_, named) >> n_known).bit_count()
    return Signals(
        max(evidence.cosines[hits]),
        max(covered) / total if total else 0.0,
        sum(covered) / (n_hits * total) if total else 0.0,
        max(evidence.bm25[hits]),
        n_found / (n_hits * n_known) if n_known else 0.0,
        n_missing / n_unknown if n_unknown else 0.0,
        question.linked,
        question.size,
    )


def confidence(signals: Signals) -> float:
    """Estimate, from 0 to 1, that the question is one that these hits can answer.

    A hit that holds every word of the question is never refused, however odd the question: the
    estimate is then `THRESHOLD` at least.
    """
    z = INTERCEPT + fsum(map(mul, COEFFICIENTS, signals))  # rounded once: no order, no version
    estimate = 1.0 / (1.0 + exp(-z))
    return max(estimate, THRESHOLD) if signals.coverage == 1.0 else estimate


TIERS: tuple[Relevance, ...] = ("low", "medium", "high")


def relevance(estimate: float) -> Relevance:
    """Give the tier of a hit's own confidence."""
    if estimate >= HIGH:
        return "high"
    return "medium" if estimate >= THRESHOLD else "low"


def at_least(tier: Relevance) -> tuple[Relevance, ...]:
    """Give a tier and those above it."""
    return TIERS[TIERS.index(tier) :]


class Assessment(Struct, frozen=True):
    """What the first hits are worth together, and each hit by itself."""

    question: Question
    evidence: Evidence
    signals: Signals
    confidence: float

    @classmethod
    def of(cls, question: Question, evidence: Evidence) -> "Assessment":
        """Assess hits; at least one."""
        signals = measure(question, evidence)
        return cls(question, evidence, signals, confidence(signals))

    def of_hit(self, i: int) -> float:
        """Give the confidence of a hit taken by itself."""
        return confidence(measure_hit(self.question, self.evidence, i))

    def at_least(self, tier: Relevance | None) -> list[int]:
        """Give the positions of the hits of a tier or above; None: all."""
        hits = range(len(self.evidence.cosines))
        if tier is None:
            return list(hits)
        tiers = at_least(tier)
        return [i for i in hits if relevance(self.of_hit(i)) in tiers]

    @property
    def answers(self) -> bool:
        """Whether this is enough for an answer."""
        return self.confidence >= THRESHOLD

    def report(self) -> dict[str, Any]:
        """Describe it in the answer."""
        return {
            "confidence": self.confidence,
            "threshold": THRESHOLD,
            "signals": self.signals._asdict(),
        }

    def why_not(self) -> str:
        """Say why this is no answer."""
        signals = self.signals
        reason = (
            f"confidence {self.confidence:.2f} is below {THRESHOLD}: the best hit holds "
            f"{signals.coverage:.0%} of what is asked, with a cosine of {signals.cosine:.2f}"
        )
        if signals.names_missing:
            reason += f", and {signals.names_missing:.0%} of the names in the question are absent"
        return f"{reason}; abstain=false shows the hits"


# The assessment of no hits.
NOTHING: dict[str, Any] = {
    "confidence": 0.0,
    "threshold": THRESHOLD,
    "signals": None,
    "rescue": {"status": "skipped", "reason": "there are no hits"},
}
