"""Where documents are cut into chunks. Every chunk is a verbatim slice of its source.

The chunks of a document partition it: each non-blank character lies in exactly one chunk, in
order. Sizes count characters. What a chunk mentions is ``entities``.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from brain_daemon.ingest.inline import PARAGRAPH_END, fences
from brain_daemon.ingest.markdown import Block, MarkdownDocument, line_of, line_starts

TARGET_CHARS = 1_200
WHOLE_CHARS = 1_800  # a section or paragraph up to here is not cut
HARD_CHARS = 4_000  # no chunk is longer
_LEAD_IN_CHARS = 200  # shorter than this stays with what follows

_ATOMIC = frozenset({"fence", "code", "table", "front_matter"})
_BLANK_LINES = re.compile(r"(?:[^\S\r\n]*(?:\r\n?|\n))*")
_SPACES = re.compile(r"[^\S\r\n]*")
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’»)\]*_]*\s+|[。！？]+[」』”]?\s*")
_LAST_SPACE = re.compile(r".*\s", re.DOTALL)


class Chunk(NamedTuple):
    """``text == source[start:end]``; lines count from 1 and are inclusive."""

    text: str
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    start: int
    end: int


class _Unit(NamedTuple):
    """A stretch of the source that packing does not look into."""

    start: int
    end: int
    path: tuple[str, ...] = ()
    is_heading: bool = False


def chunk_markdown(document: MarkdownDocument) -> list[Chunk]:
    """Cut a Markdown document at its structure.

    A heading opens a chunk, and a heading without a body goes to what follows it. A section of
    up to 1,800 characters is one chunk; a longer one is packed block by block to about 1,200,
    lists by item. Fences, indented code and tables are whole up to 4,000 characters; a longer
    one is cut at line ends, and its pieces repeat nothing. Longer paragraphs are cut at the end
    of a sentence, else at a space, else anywhere. Front matter belongs to the first chunk, so
    that its words can be found.

    Returns
    -------
    list of Chunk
        In the order of the source; empty if it holds nothing but whitespace. The heading path
        is that of the chunk's last block.
    """
    source, starts = document.source, document.line_starts
    chunks: list[Chunk] = []
    at = starts[0]
    section: list[Block] = []
    has_body = False
    for block in document.blocks:
        if block.kind == "heading" and has_body:
            end = starts[block.line_start - 1]
            chunks += _pack(source, starts, list(_units(source, starts, section, at, end)))
            section, has_body, at = [], False, end
        section.append(block)
        has_body = has_body or block.kind not in ("heading", "front_matter")
    chunks += _pack(source, starts, list(_units(source, starts, section, at, len(source))))
    return chunks


def chunk_text(text: str) -> list[Chunk]:
    """Cut a plain text: up to 1,800 characters it is one chunk.

    A longer one is packed paragraph by paragraph to about 1,200 characters; longer paragraphs
    are cut at the end of a sentence, else at a space, else anywhere. Fenced code is whole up to
    4,000 characters.

    Returns
    -------
    list of Chunk
        In order; empty if the text holds nothing but whitespace.
    """
    starts = line_starts(text)
    units: list[_Unit] = []
    start, end = _trim(text, starts[0], len(text))
    if end - start <= WHOLE_CHARS:
        return [_chunk(text, starts, start, _Unit(start, end))] if end > start else []
    for fence_start, fence_end in [*fences(text[:end]), (end, end)]:
        for match in PARAGRAPH_END.finditer(text, start, fence_start):
            units += _prose(text, starts, start, match.end())
            start = match.end()
        units += _prose(text, starts, start, fence_start)
        if fence_end - fence_start > HARD_CHARS:
            units += _prose(text, starts, fence_start, fence_end)
        elif fence_end > fence_start:
            units.append(_Unit(fence_start, fence_end))
        start = fence_end
    return _pack(text, starts, units)


def _units(
    source: str, starts: Sequence[int], blocks: Sequence[Block], start: int, end: int
) -> Iterator[_Unit]:
    """Break blocks, which cover [start, end), into units of at most HARD_CHARS."""
    for i, block in enumerate(blocks):
        following = starts[blocks[i + 1].line_start - 1] if i + 1 < len(blocks) else end
        first, last = _trim(source, start, following)
        size, path = last - first, block.heading_path
        if block.children and size > TARGET_CHARS:
            yield from _units(source, starts, block.children, start, following)
        elif size > (HARD_CHARS if block.kind in _ATOMIC else WHOLE_CHARS):
            yield from _prose(source, starts, first, last, path)
        elif size > 0:
            yield _Unit(first, last, path, block.kind == "heading")
        start = following


def _prose(
    source: str, starts: Sequence[int], start: int, end: int, path: tuple[str, ...] = ()
) -> Iterator[_Unit]:
    """Cut [start, end) into parts of much the same size, none over WHOLE_CHARS."""
    start, end = _trim(source, start, end)
    if end - start <= WHOLE_CHARS:
        parts = [(start, end)]
    else:
        parts = list(_parts(source, starts, start, end))
    for part_start, part_end in parts:
        first, last = _trim(source, part_start, part_end)
        if last > first:
            yield _Unit(first, last, path)


def _parts(source: str, starts: Sequence[int], start: int, end: int) -> Iterator[tuple[int, int]]:
    ideal = (end - start) / -(-(end - start) // TARGET_CHARS)
    previous = start
    for cut, reads_well in _cuts(source, starts, start, end):
        if cut - start > 1.5 * ideal and previous > start:
            yield start, previous
            start = previous
        if reads_well and cut - start >= 0.75 * ideal:
            yield start, cut
            start = cut
        previous = cut
    yield start, end


def _cuts(source: str, starts: Sequence[int], start: int, end: int) -> Iterator[tuple[int, bool]]:
    """Places to cut, no two further apart than WHOLE_CHARS, and whether each reads well.

    Line ends read well after a sentence or a blank line. Only a line that is longer than
    WHOLE_CHARS is cut inside.
    """
    while start < end:
        line_end = min(starts[bisect_right(starts, start)], end)
        if line_end - start > WHOLE_CHARS:
            yield from _cuts_in_line(source, start, line_end)
        else:
            line = source[start:line_end].rstrip()
            yield line_end, not line or line[-1] in '.!?…。！？"”»)'
        start = line_end


def _cuts_in_line(source: str, start: int, end: int) -> Iterator[tuple[int, bool]]:
    for match in _SENTENCE_END.finditer(source, start, end):
        yield from _cuts_in_sentence(source, start, match.end())
        yield match.end(), True
        start = match.end()
    yield from _cuts_in_sentence(source, start, end)
    yield end, True


def _cuts_in_sentence(source: str, start: int, end: int) -> Iterator[tuple[int, bool]]:
    while end - start > TARGET_CHARS:
        window = source[start : start + TARGET_CHARS]
        start += _last_space(window) or TARGET_CHARS
        yield start, False


def _last_space(window: str) -> int:
    """The offset after the window's last space, 0 if there is none in it."""
    match = _LAST_SPACE.match(window)
    return match.end() if match else 0


def _pack(source: str, starts: Sequence[int], units: Sequence[_Unit]) -> list[Chunk]:
    """Join the units of one section into chunks of about TARGET_CHARS."""
    if not units:
        return []
    if units[-1].end - units[0].start <= WHOLE_CHARS:
        return [_chunk(source, starts, units[0].start, units[-1])]
    ranges: list[tuple[int, _Unit]] = []  # where a chunk starts, and its last unit
    start, before, last = units[0].start, units[0], units[0]
    only_headings = last.is_heading
    for unit in units[1:]:
        size = last.end - start
        if only_headings or size < _LEAD_IN_CHARS:
            limit = HARD_CHARS
        else:
            limit = WHOLE_CHARS if size < TARGET_CHARS // 2 else TARGET_CHARS
        if unit.end - start > limit:
            if _announces(source, last, unit) and last.start > start:
                ranges.append((start, before))
                start, only_headings = last.start, False
            else:
                ranges.append((start, last))
                start, only_headings = unit.start, True
        before, last = last, unit
        only_headings = only_headings and unit.is_heading
    if ranges and last.end - start < _LEAD_IN_CHARS and last.end - ranges[-1][0] <= WHOLE_CHARS:
        start, _ = ranges.pop()
    ranges.append((start, last))
    return [_chunk(source, starts, start, last) for start, last in ranges]


def _announces(source: str, unit: _Unit, following: _Unit) -> bool:
    """Whether a short unit ends in a colon and fits in one chunk with what follows."""
    return (
        unit.end - unit.start < _LEAD_IN_CHARS
        and source[unit.end - 1] == ":"
        and following.end - unit.start <= HARD_CHARS
    )


def _chunk(source: str, starts: Sequence[int], start: int, last: _Unit) -> Chunk:
    end = last.end
    rest = _skip(_SPACES, source, end, len(source))
    if (rest == len(source) or source[rest] in "\r\n") and rest - start <= HARD_CHARS:
        end = rest  # the line's own trailing spaces
    first_line, last_line = line_of(starts, start), line_of(starts, end - 1)
    return Chunk(source[start:end], last.path, first_line, last_line, start, end)


def _trim(source: str, start: int, end: int) -> tuple[int, int]:
    """Leave out leading blank lines and all trailing whitespace."""
    start = _skip(_BLANK_LINES, source, start, end)
    return start, start + len(source[start:end].rstrip())


def _skip(pattern: re.Pattern[str], source: str, start: int, end: int) -> int:
    match = pattern.match(source, start, end)
    return match.end() if match else start
