"""Inline syntax found by offset: code spans, wiki links, hashtags. Works on any text.

Block structure is ``markdown``; what the findings mean is ``entities`` and ``prepare``.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

Region = tuple[int, int]

_BACKTICKS = re.compile(r"`+")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\r\n]*", re.MULTILINE)
PARAGRAPH_END = re.compile(r"(?:\r\n?|\n)[^\S\r\n]*(?:\r\n?|\n)")
_WIKI_LINK = re.compile(r"\[\[([^\[\]\r\n|]{1,240})(?:\|[^\[\]\r\n]{0,240})?\]\]")
# The mark comes first so that the scan can jump to it; the look-behind then wants a boundary.
_HASHTAG = re.compile(r"#(?<![^\s(,;\"'“‘*|>\[]#)(?<!\]\(#)([\w/-]{1,100})(?![\w#])")
_HEX_COLOUR = re.compile(r"(?=.*\d)(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})")
_HEADING_PART = re.compile(r"[#^]")


class Link(NamedTuple):
    """A wiki link: ``[[target]]``, or with a relation ``[[relation::target]]``."""

    start: int
    relation: str | None
    target: str


class Hashtag(NamedTuple):
    start: int
    name: str


def code_spans(text: str, start: int = 0, end: int | None = None) -> list[Region]:
    """Find the CommonMark code spans of one paragraph: equal runs of backticks, linear time."""
    end = len(text) if end is None else end
    if text.find("`", start, end) < 0:
        return []
    runs = [match.span() for match in _BACKTICKS.finditer(text, start, end)]
    closer: list[int | None] = [None] * len(runs)
    last_of_length: dict[int, int] = {}
    for i in range(len(runs) - 1, -1, -1):
        length = runs[i][1] - runs[i][0]
        closer[i] = last_of_length.get(length)
        last_of_length[length] = i
    spans = []
    i = 0
    while i < len(runs):
        opener, j = runs[i][0], closer[i]
        escaped = opener > start and text[opener - 1] == "\\"
        if j is None or escaped:
            i += 1
        else:
            spans.append((opener, runs[j][1]))
            i = j + 1
    return spans


def fences(text: str) -> list[Region]:
    """Find the fenced blocks of a text that is not parsed as Markdown, fence lines included."""
    if "```" not in text and "~~~" not in text:
        return []
    regions: list[Region] = []
    opener, opened_at = "", 0
    for match in _FENCE.finditer(text):
        mark, rest = match[1], match[0].strip()[len(match[1]) :]
        if not opener:
            if mark[0] == "~" or "`" not in rest:  # else an inline span begins the line
                opener, opened_at = mark, match.start()
        elif mark[0] == opener[0] and len(mark) >= len(opener) and not rest:
            regions.append((opened_at, match.end()))
            opener = ""
    if opener:
        regions.append((opened_at, len(text)))
    return regions


def code_regions(text: str) -> list[Region]:
    """Find fences and code spans of a text that is not parsed as Markdown, in order."""
    if "`" not in text and "~~~" not in text:
        return []
    regions: list[Region] = []
    at = 0
    for start, end in fences(text):
        _spans_by_paragraph(text, at, start, regions)
        regions.append((start, end))
        at = end
    _spans_by_paragraph(text, at, len(text), regions)
    return regions


def _spans_by_paragraph(text: str, start: int, end: int, regions: list[Region]) -> None:
    for match in PARAGRAPH_END.finditer(text, start, end):
        regions += code_spans(text, start, match.start())
        start = match.end()
    regions += code_spans(text, start, end)


def blank(text: str, regions: Iterable[Region]) -> str:
    """Replace ordered, disjoint regions by as many spaces: the other offsets stay."""
    parts: list[str] = []
    at = 0
    for start, end in regions:
        parts += (text[at:start], " " * (end - start))
        at = end
    parts.append(text[at:])
    return "".join(parts)


def wiki_links(prose: str) -> list[Link]:
    """Find ``[[target]]``, ``[[relation::target]]``, each with or without ``|label``.

    A ``#heading`` or ``^block`` part and the suffix ``.md`` are not part of the target. A link
    without a target is no link.
    """
    if "[[" not in prose:
        return []
    links = []
    for match in _WIKI_LINK.finditer(prose):
        relation, mark, target = match[1].partition("::")
        if not mark:
            relation, target = "", relation
        target = target.rstrip("\\")  # a table cell writes the bar as \|
        target = _HEADING_PART.split(target, maxsplit=1)[0].strip().removesuffix(".md")
        if any(map(str.isalnum, target)):
            links.append(Link(match.start(), relation.strip() or None, target))
    return links


def without_links(prose: str) -> str:
    """Blank the wiki links out, so that no other reading of them is taken."""
    if "[[" not in prose:
        return prose
    return blank(prose, (match.span() for match in _WIKI_LINK.finditer(prose)))


def hashtags(prose: str) -> list[Hashtag]:
    """Find ``#tag`` after a space or an opening mark; not ``#123``, ``#a1b2c3``, ``x#y``."""
    if "#" not in prose:
        return []
    tags = []
    for match in _HASHTAG.finditer(prose):
        name = match[1].strip("/-_")
        if any(map(str.isalpha, name)) and not _HEX_COLOUR.fullmatch(name):
            tags.append(Hashtag(match.start(), name))
    return tags
