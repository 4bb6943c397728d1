"""CommonMark documents: front matter, blocks with heading path and line span, inline syntax.

Nothing is rendered and no block is altered. Where chunks are cut is ``chunking``.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin

from brain_daemon.ingest import inline
from brain_daemon.ingest.inline import Hashtag, Link, Region

MAX_NAME_CHARS = 200  # of a heading or title: each chunk repeats its path
_MAX_FRONT_MATTER_CHARS = 65_536

# The inline phase is not needed, and link definitions must stay lines like all others.
_PARSER = MarkdownIt("commonmark").enable("table").use(front_matter_plugin)
_PARSER.disable(["inline", "reference"])

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

_KINDS = {
    "paragraph": "paragraph",
    "heading": "heading",
    "bullet_list": "list",
    "ordered_list": "list",
    "list_item": "item",
    "blockquote": "quote",
    "table": "table",
    "fence": "fence",
    "code_block": "code",
    "html_block": "html",
    "hr": "rule",
    "front_matter": "front_matter",
}
_CONTAINERS = frozenset({"list", "item", "quote"})

_IMAGE_OR_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\s]*(?:\s[^()]*)?\)|\[[^\[\]]*\])")
_WIKI_LABEL = re.compile(r"\[\[(?:[^\[\]|]*?::)?([^\[\]|]*)(?:\|([^\[\]]*))?\]\]")
_TAG_OR_MARK = re.compile(r"</?[A-Za-z][^<>]*>|[*`]+|(?<!\w)_+|_+(?!\w)|~~|\\(?=[^\w\s])")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the document.

    ``kind`` is one of paragraph, heading, list, item, quote, table, fence, code, html, rule,
    front_matter; lines count from 1 and are inclusive; only list, item and quote have children.
    A heading's own text ends its ``heading_path``.
    """

    kind: str
    line_start: int
    line_end: int
    heading_path: tuple[str, ...]
    children: tuple["Block", ...] = ()


@dataclass(frozen=True, slots=True)
class MarkdownDocument:
    """A parsed document; offsets count characters of ``source``.

    ``line_starts`` has one entry a line and a last one, the end of the source. ``prose`` is the
    source with front matter and code replaced by spaces, so it has the same offsets.
    """

    source: str
    line_starts: Sequence[int]
    front_matter: dict[str, Any]
    first_h1: str | None
    blocks: tuple[Block, ...]
    code: tuple[Region, ...]
    prose: str
    links: tuple[Link, ...]
    hashtags: tuple[Hashtag, ...]
    warnings: tuple[str, ...]

    @property
    def title(self) -> str | None:
        """The front matter's title, else the first heading of level 1."""
        title = self.front_matter.get("title")
        if isinstance(title, str) and not _is_null(title):
            return " ".join(title.split())[:MAX_NAME_CHARS]
        return self.first_h1

    @property
    def tags(self) -> tuple[str, ...]:
        """The front matter's ``tags`` or ``tag``, in order, each once, without ``#``."""
        return self._strings("tags", "tag", separators=r"[,\s]+")

    @property
    def aliases(self) -> tuple[str, ...]:
        """The front matter's ``aliases`` or ``alias``, in order, each once."""
        return self._strings("aliases", "alias", separators=r",")

    def _strings(self, *keys: str, separators: str) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for key in keys:
            value = self.front_matter.get(key)
            if isinstance(value, str):
                value = re.split(separators, value)
            for item in value if isinstance(value, list) else ():
                name = item.strip().lstrip("#") if isinstance(item, str) else ""
                if name and not _is_null(name) and len(name) <= MAX_NAME_CHARS:
                    found[name] = None
        return tuple(found)


def line_starts(source: str) -> list[int]:
    """Offsets of the lines, and the source's end; a line ends with LF, CRLF or a lone CR.

    A byte order mark belongs to no line. A line end at the very end begins no further line.
    """
    first = 1 if source.startswith("\ufeff") else 0
    return [match.start() for match in _LINE.finditer(source, first)]


def parse(source: str) -> MarkdownDocument:
    """Read a document; whatever the input is, it is read as something.

    Front matter that is no YAML mapping, or longer than 65,536 characters, is given as a
    warning and the document is read as plain. Its scalars stay strings as they were written
    (so ``0054``, ``yes`` and ``2026-02-30`` are names like others).

    Parameters
    ----------
    source : str
        Any text; line ends may be mixed.

    Returns
    -------
    MarkdownDocument

    References
    ----------
    CommonMark 0.31; tables as in GitHub Flavored Markdown.
    """
    starts = line_starts(source)
    tokens = _PARSER.parse(source[starts[0] :])
    warnings: list[str] = []
    front_matter: dict[str, Any] = {}
    if tokens and tokens[0].type == "front_matter":
        front_matter = _front_matter(tokens[0].content, warnings)
    reader = _BlockReader(tokens)
    blocks = reader.blocks()
    code = _code_regions(source, starts, blocks)
    masked = list(code)
    if blocks and blocks[0].kind == "front_matter":
        masked.insert(0, (starts[0], starts[blocks[0].line_end]))
    prose = inline.blank(source, masked)
    return MarkdownDocument(
        source=source,
        line_starts=starts,
        front_matter=front_matter,
        first_h1=reader.first_h1,
        blocks=blocks,
        code=tuple(code),
        prose=prose,
        links=tuple(inline.wiki_links(prose)),
        hashtags=tuple(inline.hashtags(inline.without_links(prose))),
        warnings=tuple(warnings),
    )


def line_of(starts: Sequence[int], offset: int) -> int:
    """The line, from 1, that holds a character offset."""
    return max(1, min(bisect_right(starts, offset), len(starts) - 1))


def _front_matter(content: str, warnings: list[str]) -> dict[str, Any]:
    if len(content) > _MAX_FRONT_MATTER_CHARS:
        warnings.append(
            f"front matter has {len(content)} characters, more than {_MAX_FRONT_MATTER_CHARS}; "
            "it is read as plain text"
        )
        return {}
    try:
        value = yaml.load(content, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        where = getattr(error, "problem_mark", None)
        line = f" at line {where.line + 2}" if where is not None else ""
        warnings.append(f"front matter is not YAML{line}; it is read as plain text")
        return {}
    if value in ("", None):
        return {}
    if not isinstance(value, dict):
        warnings.append("front matter is not a YAML mapping; it is read as plain text")
        return {}
    return {str(key).strip().lower(): item for key, item in value.items()}


def _is_null(scalar: str) -> bool:
    return scalar.strip().lower() in ("", "~", "null")


class _BlockReader:
    """Builds the block tree from the parser's flat list of tokens."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._path: list[tuple[int, str]] = []
        self.first_h1: str | None = None

    def blocks(self, closing: str | None = None) -> tuple[Block, ...]:
        found = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.type == closing:
                break
            kind = _KINDS.get(token.type.removesuffix("_open"))
            if kind is None or token.map is None:
                continue
            first, last = token.map[0] + 1, max(token.map[1], token.map[0] + 1)
            children: tuple[Block, ...] = ()
            if kind in _CONTAINERS:
                children = self.blocks(token.type.removesuffix("_open") + "_close")
            elif kind == "heading" and token.level == 0:
                self._enter(int(token.tag[1:]), self._tokens[self._at].content)
            path = tuple(name for _, name in self._path)
            found.append(Block(kind, first, last, path, children))
        return tuple(found)

    def _enter(self, level: int, markup: str) -> None:
        name = plain(markup)
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        if name:
            self._path.append((level, name))
        if level == 1 and self.first_h1 is None:
            self.first_h1 = name or None


def plain(markup: str) -> str:
    """The words of a heading without its inline markup, at most 200 characters."""
    text = markup[: 4 * MAX_NAME_CHARS]
    text = _WIKI_LABEL.sub(lambda match: match[2] or match[1], text)
    text = _IMAGE_OR_LINK.sub(r"\1", text)
    text = _TAG_OR_MARK.sub("", text)
    return " ".join(text.split())[:MAX_NAME_CHARS].rstrip()


def leaves(blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks that have no children, in order."""
    for block in blocks:
        if block.children:
            yield from leaves(block.children)
        else:
            yield block


def _code_regions(source: str, starts: Sequence[int], blocks: Sequence[Block]) -> list[Region]:
    regions: list[Region] = []
    for block in leaves(blocks):
        start, end = starts[block.line_start - 1], starts[min(block.line_end, len(starts) - 1)]
        if block.kind in ("fence", "code"):
            regions.append((start, end))
        elif block.kind == "table":
            for line in range(block.line_start - 1, min(block.line_end, len(starts) - 1)):
                regions += inline.code_spans(source, starts[line], starts[line + 1])
        elif block.kind in ("paragraph", "heading"):
            regions += inline.code_spans(source, start, end)
    return regions
