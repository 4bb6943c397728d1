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
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from math import exp, fsum, log1p
from operator import mul, or_
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from brain_daemon._ext import bm25
from brain_daemon.index.snapshot import Snapshot
from brain_daemon.text.analyzer import Analyzer, QueryTerms

Relevance = Literal["low", "medium", "high"]

ASSESSED = 5  # the first hits, whatever k is: k decides what is shown, not what is believed

# Documents of the language at large, in which no term of the query stands: in a store of one
# memory every term would weigh next to nothing, and whether it is there everything.
BACKGROUND_DOCUMENTS = 50
MOST_INFORMATION = 30.0  # nats: any long text shares many words with something
_WEIGHT_UNIT = 1024  # term weights are integers in 1/1024: their sums are exact

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
    gap : float
        By how much the best cosine stands above the mean of the three best: a lone neighbour is
        more often there by chance than several.
    coverage : float
        Best share of the question's terms, weighed by idf, that one hit holds, 0 to 1.
    complete : float
        1 if one hit holds every term of the question, else 0.
    information : float
        What ``coverage`` is a share of, as far as it is covered: idf in nats.
    names_found, names_missing : float
        Shares of the question's distinctive terms, its names and identifiers, that some hit
        holds, and that none does; both 0 for a question without.
    agreement : float
        Share of the legs that ran which list the first hit, 0 to 1.
    size : float
        ``ln(1 + n)``, n the visible chunks: among many the best looks good by chance. 0 where one
        hit holds every term: that is no chance.
    """

    cosine: float
    gap: float
    coverage: float
    complete: float
    information: float
    names_found: float
    names_missing: float
    agreement: float
    size: float


# Printed by tools/fit_confidence.py.
INTERCEPT = -4.42
COEFFICIENTS = Signals(
    cosine=13.30,
    gap=-5.40,
    coverage=3.09,
    complete=0.71,
    information=0.26,
    names_found=2.73,
    names_missing=-1.58,
    agreement=0.45,
    size=-0.88,
)
THRESHOLD = 0.5  # of an answer, and of a hit of medium relevance: more likely than not
HIGH = 0.95  # of a hit of high relevance


@dataclass(frozen=True, slots=True)
class Question:
    """What a question asks for.

    Attributes
    ----------
    weights : ndarray of int64, shape (q,)
        Of its terms: idf in units of 1/1024.
    names : tuple of tuple of int
        Positions of the terms of each name and identifier in it.
    total : int
        Sum of the weights.
    size : float
        As in `Signals`.
    """

    weights: npt.NDArray[np.int64]
    names: tuple[tuple[int, ...], ...]
    total: int
    size: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What hits have to show, in their order.

    Attributes
    ----------
    cosines : list of float
        With the question as asked.
    covered : list of int
        Summed weights of the question's terms that each holds.
    named : list of int
        Which of its names each holds: bit j for name j.
    agreement : list of float
        Share of the legs that ran which list it.
    """

    cosines: list[float]
    covered: list[int]
    named: list[int]
    agreement: list[float]

    @classmethod
    def of(
        cls,
        question: Question,
        cosines: list[float],
        present: npt.NDArray[np.bool_],
        agreement: list[float],
    ) -> "Evidence":
        """Weigh what hits hold; ``present``, of shape (m, q), tells which terms each does."""
        named = [0] * len(cosines)
        if question.names:
            for i, held in enumerate(present.tolist()):
                for j, name in enumerate(question.names):
                    named[i] |= any(held[position] for position in name) << j
        covered = (present @ question.weights).tolist()
        return cls(cosines, covered, named, agreement)


def read_question(
    q: str,
    terms: QueryTerms,
    term_ids: npt.NDArray[np.int32],
    linked_names: Iterable[str],
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
    linked_names : iterable of str
        Names that the graph knows and ``q`` holds, in whatever case.
    snapshot, n_visible, analyzer
    """
    if not terms.terms:
        return Question(np.empty(0, np.int64), (), 0, log1p(n_visible))
    n_documents = snapshot.n_alive + BACKGROUND_DOCUMENTS
    frequencies = bm25.document_frequencies(snapshot.postings, term_ids, snapshot.rows.alive)
    weights = [
        round(_WEIGHT_UNIT * log1p((n_documents - df + 0.5) / (df + 0.5)))
        for df in frequencies.tolist()
    ]
    position = {term: i for i, term in enumerate(terms.terms)}
    distinctive = dict.fromkeys(
        tuple([position[term] for term in analyzer.query(name).terms if term in position])
        for name in names(q, analyzer.language) or linked_names
    )
    return Question(
        np.array(weights, np.int64),
        tuple(filter(None, distinctive)),
        sum(weights),
        log1p(n_visible),
    )


def names(q: str, language: str) -> list[str]:
    """Find words written as names are: with a capital inside a sentence, or as an identifier."""
    words = list(_word.finditer(q))
    capitals_tell = language not in _CAPITALISE_NOUNS and any(
        match.group()[0].islower() for match in words
    )
    return [match.group() for match in words if _is_name(q, match, capitals_tell)]


def _is_name(q: str, match: re.Match[str], capitals_tell: bool) -> bool:
    word = match.group()
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
    best = sorted(evidence.cosines[:ASSESSED], reverse=True)[:3]
    return _signals(
        question,
        best[0],
        best[0] - fsum(best) / len(best),
        max(evidence.covered[:ASSESSED]),
        reduce(or_, evidence.named[:ASSESSED]),
        evidence.agreement[0],
    )


def measure_each(question: Question, evidence: Evidence) -> list[Signals]:
    """Measure every hit by itself."""
    return [
        _signals(question, cosine, 0.0, covered, named, agreement)
        for cosine, covered, named, agreement in zip(
            evidence.cosines, evidence.covered, evidence.named, evidence.agreement, strict=True
        )
    ]


def _signals(
    question: Question, cosine: float, gap: float, covered: int, named: int, agreement: float
) -> Signals:
    total, n_names = question.total, len(question.names)
    complete = 0 < total == covered
    found = named.bit_count() / n_names if n_names else 0.0
    return Signals(
        cosine,
        gap,
        covered / total if total else 0.0,
        float(complete),
        min(covered / _WEIGHT_UNIT, MOST_INFORMATION),
        found,
        1.0 - found if n_names else 0.0,
        agreement,
        0.0 if complete else question.size,
    )


def confidence(signals: Signals) -> float:
    """Estimate, from 0 to 1, that the question is one that these hits can answer.

    A hit that holds every word of the question is never refused, however odd the question: the
    estimate is then `THRESHOLD` at least.
    """
    z = INTERCEPT + fsum(map(mul, COEFFICIENTS, signals))  # rounded once: no order, no version
    estimate = 1.0 / (1.0 + exp(-z))
    return max(estimate, THRESHOLD) if signals.complete else estimate


TIERS: tuple[Relevance, ...] = ("low", "medium", "high")


def relevance(estimate: float) -> Relevance:
    """Give the tier of a hit's own confidence."""
    if estimate >= HIGH:
        return "high"
    return "medium" if estimate >= THRESHOLD else "low"


def at_least(tier: Relevance | None) -> tuple[Relevance, ...]:
    """Give a tier and those above it; None: all."""
    return TIERS[TIERS.index(tier) :] if tier else TIERS


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the first hits are worth together, and each hit by itself, in their order."""

    signals: Signals
    confidence: float
    each: list[float]
    relevance: list[Relevance]

    @classmethod
    def of(cls, question: Question, evidence: Evidence) -> "Assessment":
        """Assess hits; at least one."""
        signals = measure(question, evidence)
        each = list(map(confidence, measure_each(question, evidence)))
        return cls(signals, confidence(signals), each, list(map(relevance, each)))

    def at_least(self, tier: Relevance | None) -> list[int]:
        """Give the positions of the hits of a tier or above; None: all."""
        tiers = at_least(tier)
        return [i for i, own in enumerate(self.relevance) if own in tiers]

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
