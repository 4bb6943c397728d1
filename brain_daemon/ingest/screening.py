"""Screening: does a chunk read like an order to a language model that will recall it?

Deterministic and local: the text is folded to what a reader sees (compatibility forms, invisible
marks, look-alike letters, split letters, digits for letters), then matched against weighted
patterns in `screening_rules`. What stands in quotation marks or code and is written about is no
order. A first look at a few stems lets ordinary text pass in microseconds.

Not here: what becomes of a chunk that is caught (``service/quarantine.py``).

References
----------
Unicode Technical Standard 39, "Unicode security mechanisms". Greshake et al., "Not what you've
signed up for: compromising real-world LLM-integrated applications with indirect prompt
injection", 2023.
"""

import re
import unicodedata
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from brain_daemon._ext import stems
from brain_daemon.ingest import screening_rules as rules
from brain_daemon.ingest.screening_disguises import (
    ENCODED_WORDS,
    decoded,
    fold,
    is_mark,
    plain,
    read_bangs,
    unmarked,
)
from brain_daemon.ingest.screening_indirect import INDIRECT, INDIRECT_STEMS
from brain_daemon.ingest.screening_languages import FOREIGN

CONDEMNED = 2  # points
_LAYERS = 2  # encodings within one another
_MAX_MATCHES = 8  # of one pattern that are looked at: more of the same is no news

_SQUEEZE = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0134578@$", b"abcdefghijklmnopqrstuvwxyzoieastbas"
)
_SCRIPTS = re.compile("[\u0370-\u1fff\u3040-\ud7ff]")  # those of the stems that are not Latin
_DROPPED = bytes(b for b in range(128) if not chr(b).isalnum() and chr(b) not in "@$")


def squeeze(folded: str) -> bytes:
    """Give the Latin letters alone, digits read as the letters that they may stand for."""
    return folded.encode("ascii", "ignore").translate(_SQUEEZE, _DROPPED)


# --- the rules, folded like the texts


class _Rule(NamedTuple):
    name: str
    points: int
    anchors: frozenset[str]
    others: tuple[tuple[bytes, ...], ...]
    is_order: bool  # counts only where an order may begin
    pattern: re.Pattern[str]


def _pattern(pattern: str) -> re.Pattern[str]:
    decomposed = unicodedata.normalize("NFKD", pattern)
    kept = "".join(c for c in decomposed if not is_mark(c))
    return re.compile(kept.replace(" ", r"\s"))  # people wrap lines


def _rule(name: str, points: int, needs: str, pattern: str) -> _Rule:
    for macro, written_out in _MACROS.items():
        needs = needs.replace(macro, written_out)
    anchors, *others = [column.split() for column in needs.split(" + ")]
    return _Rule(
        name,
        points,
        frozenset(stem if stem.isalnum() and stem.isascii() else _sign(stem) for stem in anchors),
        tuple(tuple(stem.encode() for stem in column) for column in others),
        pattern.startswith(rules.START),
        _pattern(pattern.removeprefix(rules.START)),
    )


def _sign(stem: str) -> str:
    return stem if stem.isascii() else fold(stem).replace("|", " ")


_MACROS = rules.STEMS | INDIRECT_STEMS
_RULES = tuple(_rule(*row) for row in (*rules.RULES, *INDIRECT, *FOREIGN))
_START, _DISCUSSION, _REPORTED = (
    _pattern(pattern) for pattern in (rules.START + r"\Z", rules.DISCUSSION, rules.REPORTED)
)
_LEAD = 16  # characters before an order that `START` looks at
_ANCHORS = sorted(set().union(*(rule.anchors for rule in _RULES)))
_SIGNS = [stem for stem in _ANCHORS if stem.isascii() and not stem.isalnum()]
_FOREIGN_STEMS = [stem for stem in _ANCHORS if not stem.isascii()]
_BY_ANCHOR = {stem: [rule for rule in _RULES if stem in rule.anchors] for stem in _ANCHORS}

# Runs of six letters are looked up all at once: one hash a run, one table for all stems.
_COMMON = "etaoinsrhldcumfpgwybvkxjqz"  # letters of English, the commonest first


def _index_stems() -> tuple[npt.NDArray[np.uint16], list[list[tuple[str, bytes, int]]]]:
    """Put each Latin stem under the hash of its rarest run, with the place of the run in it."""
    table = np.zeros(stems.SLOTS, np.uint16)
    groups: list[list[tuple[str, bytes, int]]] = [[]]
    for stem in (*_ANCHORS, *sorted(ENCODED_WORDS)):
        if not (stem.isascii() and stem.isalnum()):
            continue
        runs = [stem[i : i + stems.RUN] for i in range(len(stem) - stems.RUN + 1)]
        rarest = max(runs, key=lambda run: sum(map(_COMMON.index, run)))
        slot = stems.slot(rarest.encode())
        if not table[slot]:
            table[slot] = len(groups)
            groups.append([])
        groups[table[slot]].append((stem, stem.encode(), runs.index(rarest)))
    return table, groups


_TABLE, _GROUPS = _index_stems()


def screen(text: str) -> str:
    """Say why a text is to be held back.

    Parameters
    ----------
    text : str
        A chunk with whatever is shown beside it: title, headings, names.

    Returns
    -------
    str
        Names of the rules that condemn it, sorted, joined by ", "; empty for ordinary text.
    """
    return _screen(text, _LAYERS)


def _screen(text: str, layers: int, needed: int = CONDEMNED) -> str:
    folded = fold(text)
    if ("<" in folded and "</" in folded) or "<!--" in folded or "<wbr" in folded:
        folded = unmarked(folded)
    if "!" in folded:
        folded = read_bangs(folded)
    letters = squeeze(folded)
    tried, encoded = _first_look(folded, letters)
    if tried:
        best = {rule.name: rule.points for rule in sorted(tried, key=attrgetter("points"))}
        if sum(best.values()) >= needed and (reason := _judge(folded, tried, needed)):
            return reason
    if layers:
        for said, is_hidden in decoded(text, folded, encoded):
            needed = 1 if is_hidden else CONDEMNED  # who hides a text means something by it
            if reason := _screen(said, layers - 1, needed):
                return reason if reason.startswith("encoded") else f"encoded, {reason}"
    return ""


def _first_look(folded: str, letters: bytes) -> tuple[list[_Rule], frozenset[str]]:
    """Tell which rules have their stems in a text, and which signs of an encoding it has.

    Most texts end here.
    """
    found = [sign for sign in _SIGNS if sign[-1] in folded and sign in folded]
    if not folded.isascii() and _SCRIPTS.search(folded):
        found += [stem for stem in _FOREIGN_STEMS if stem in folded]
    for place, group in stems.find(letters, _TABLE):
        for stem, encoded, offset in _GROUPS[group]:
            if place >= offset and letters.startswith(encoded, place - offset):
                found.append(stem)
    rules_found = dict.fromkeys(rule for stem in found for rule in _BY_ANCHOR.get(stem, ()))
    tried = [
        rule
        for rule in rules_found
        if all(any(stem in letters for stem in column) for column in rule.others)
    ]
    return tried, ENCODED_WORDS.intersection(found)


def _judge(folded: str, tried: Sequence[_Rule], needed: int) -> str:
    seen = plain(folded)
    points: dict[str, int] = {}
    for rule in tried:
        if points.get(rule.name, 0) >= rule.points:
            continue
        for number, match in enumerate(rule.pattern.finditer(seen)):
            if number == _MAX_MATCHES:
                break
            start, end = match.span()
            if rule.is_order and not _START.search(seen, max(0, start - _LEAD), start):
                continue
            if not _is_mentioned(seen, start, end):
                points[rule.name] = rule.points
                break
    if sum(points.values()) < needed:
        return ""
    return ", ".join(sorted(points))


# --- use and mention

_PAIRS = {
    '"': '"',
    "“": "”",
    "„": "“”",
    "«": "»",
    "‘": "’",
    "'": "'",
    "`": "`",
    "「": "」",
    "*": "*",
    "|": "|",
}
# An apostrophe within a word is no quotation mark.
_MARKS = {
    opening: re.compile(r"(?<!\w)'|'(?!\w)" if opening == "'" else re.escape(opening))
    for opening, closings in _PAIRS.items()
    if opening in closings
}


def _is_mentioned(text: str, start: int, end: int) -> bool:
    """Tell whether a match is quoted by somebody who writes about it, or reported."""
    paragraph_start = text.rfind("\n\n", 0, start) + 1
    paragraph_end = text.find("\n\n", end)
    if paragraph_end < 0:
        paragraph_end = len(text)
    if text.count("```", 0, start) % 2:
        outside = re.sub(r"```.*?(?:```|\Z)", " ", text, flags=re.S)
        return _DISCUSSION.search(outside) is not None
    before, after = text[paragraph_start:start], text[end:paragraph_end]
    for opening, closings in _PAIRS.items():
        line_start = before.rfind("\n") + 1 if opening == "|" else 0  # a cell ends with its line
        place = _last_opening(before[line_start:], opening, closings)
        if place < 0:
            continue
        closing = min((i for c in closings if (i := after.find(c)) >= 0), default=-1)
        if closing >= 0 and _DISCUSSION.search(
            f"{before[: line_start + place]} \n {after[closing + 1 :]}"
        ):
            return True
    sentence = re.split(r"[.!?\n]", before)[-1]
    return _REPORTED.search(sentence) is not None


def _last_opening(before: str, opening: str, closings: str) -> int:
    """Place of the quotation mark that is open at the end of ``before``; -1 if none is."""
    if opening in closings:
        places = [match.start() for match in _MARKS[opening].finditer(before)]
        return places[-1] if len(places) % 2 else -1
    place = before.rfind(opening)
    return place if place > max(before.rfind(c) for c in closings) else -1
