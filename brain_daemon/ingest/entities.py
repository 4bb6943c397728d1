"""What a chunk names, found by rules alone: titles, headings, spans, identifiers, tags, links.

Good enough to connect chunks; a wrong name costs little, since the graph gives common ones little
weight. Offsets and syntax are ``inline``; typed relations are ``prepare``.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from brain_daemon.ingest.common_words import ACRONYMS, GENERIC_HEADINGS, NEVER_ALONE, NEVER_FIRST
from brain_daemon.ingest.inline import without_links
from brain_daemon.model import EntityKind, Mention
from brain_daemon.text.names import entity_key

MAX_MENTIONS = 64  # of those found by rule, in one chunk
MAX_ENTITY_CHARS = 200
_MAX_IDENTIFIER_CHARS = 128  # bounds the work on one word, which is quadratic


def _upper_case() -> str:
    """The capitals of the basic plane, as the inside of a character class.

    Later planes would make the class several times as slow, for scripts that are hardly used.
    """
    ranges: list[list[int]] = []
    for code in range(0x10000):
        if unicodedata.category(chr(code)) in ("Lu", "Lt"):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


_CONNECTIVE = (
    "(?:of the|of|for|the|de la|de las|de los|de|del|della|delle|di|da|do|dos|das|du|des|la|le"
    "|van de|van den|van der|van|von der|von|bin|ibn|al|el|&|à|sur|upon) "
)


def _span_pattern() -> re.Pattern[str]:
    """A run of capitalised words; group 1 is the number or date that follows it.

    A word ends before 's, and has O'Brien, Kim Il-sung and AT&T inside. Initials (J. R. R.) and
    abbreviations (St. Louis) have a full stop that ends no sentence. The first letter is matched
    before its surroundings are looked at: a pattern that starts with a character class is
    scanned for several times as fast.
    """
    upper = _upper_case()
    rest = (
        rf"(?:\.(?=[ -]?[{upper}])|(?:t|r|s|rs|rof)\.(?= [{upper}])"
        rf"|\w*+(?:-\w++|['’&][{upper}]\w*+)*+)"
    )
    return re.compile(
        rf"[{upper}](?<![\w/\\.#$~].){rest}"
        rf"(?: ?(?:{_CONNECTIVE})?(?!I\b)[{upper}]{rest}){{0,12}}+"
        r"( \d{1,2}, \d{4}\b| \d+(?:\.\d+)*(?![\w.,:%]*\d))?+(?!/\w|::|\.\w|=)"
    )


_SPAN = _span_pattern()
_ENGLISH_ENDINGS = ("ing", "ly", "ed")

# A character that most words do not have where it stands; words without one are not looked at.
_ODD = re.compile(
    r"[A-Z\d_/:.@>+#-](?<=\S.)"
    r"(?:(?<=[a-z]{2}[A-Z])|(?<=[a-z][A-Z])(?=[a-z])|(?<=[A-Za-z]\d)|(?<=_)(?=\w)|(?<=/)(?=\w)|(?<=:)(?=:)|(?<=\w\.)(?=[a-z_])|(?<=@)(?=\w)|(?<=->)(?=\w)"
    r"|(?<=\+)(?=\+)|(?<=[A-Z]\#)|(?<=--)(?=[A-Za-z])|(?<=[A-Z\d]-)(?=\d))",
    re.ASCII,
)
_IDENTIFIER = re.compile(
    r"""
      --[A-Za-z][\w-]+                                          # --flag
    | (?:[~.]{0,2}/)?[\w.@+-]*\w(?:/[\w.@+-]*\w)+                # a/path
    | (?:\.{0,2}|~)/[\w.@+-]*\w
    | [A-Za-z_]\w+(?:::\w+|\.[a-z_]\w*|->\w+|@[\w-]+(?:\.\w+)+)+  # a::b, a.b, a file.py, an@address
    | (?<![\w-])[A-Z][A-Z0-9]*-\d+(?![\w-])                     # DEC-0054
    | \w*[^\W_]_\w+ | __\w+__                                   # snake_case
    | [a-z]+[A-Z]\w* | [A-Z][a-z0-9]+[A-Z]\w*                   # camelCase, CamelCase
    | [A-Za-z]{2,}\d\w* | v\d+(?:\.\d+)+                        # int8, v1.2
    | (?<!\w)[A-Za-z](?:\+\+|\#(?!\w))                          # C++, C#
    """,
    re.VERBOSE | re.ASCII,
)
_URL = re.compile(r"[a-z]{2,12}://[^\s)>\]\"]+")
# A wrapped line of prose: a name may go on in the next one.
_WRAP = re.compile(r"(?:\r\n?|\n)(?<=.{50}\n)(?=\w)")
_QUOTED = re.compile(
    r"[\"“„《「『](?:(?<=[\"“„])([^\W\d_a-zß-ÿ][^\"“”\n]{2,58}\w[!?]?)[\"”“]"
    r"|(?<=[《「『])([^《》「」『』\n]{2,30})[》」』])"
)
_NUMBERING = re.compile(r"\A(?:\d+(?:\.\d+)*[.):]?|[A-Z][.)])\s+")
_PARENTHESIS = re.compile(r"\([^()]*\)$")


def mentions(
    prose: str,
    code: Sequence[str] = (),
    *,
    title: str = "",
    aliases: Iterable[str] = (),
    headings: Iterable[str] = (),
    links: Iterable[str] = (),
    hashtags: Iterable[str] = (),
    explicit: Iterable[str] = (),
) -> tuple[Mention, ...]:
    """List the entities that a chunk names, each once.

    Parameters
    ----------
    prose : str
        The chunk's text without its code.
    code : sequence of str
        The chunk's code spans and fences.
    title, aliases, headings : str, iterable of str, iterable of str
        The document's title and other names, and the chunk's heading path.
    links, hashtags, explicit : iterable of str
        Names found in the text, or given by the writer; all of them are kept.

    Returns
    -------
    tuple of Mention
        Explicit ones first, then links, tags, title, headings, then spans and identifiers by
        place; of two with one key the first. If more than 64 of the last kind are found, those
        that occur most often, the earlier one if equal. Names over 200 characters are left out.
    """
    found: dict[str, Mention] = {}
    for name in explicit:
        _add(found, name, "explicit")
    for name in links:
        _add(found, name, "link")
    for name in hashtags:
        _add(found, name, "tag")
    for name in _title_names(title) if title else ():
        _add(found, name, "title")
    for name in aliases:
        _add(found, name, "title")
    for heading in headings:
        name = _NUMBERING.sub("", heading, count=1)
        if (
            len(name) > 1
            and name.casefold().strip(" :.!?") not in GENERIC_HEADINGS
            and name.count(" ") < 10
        ):
            _add(found, name, "title")

    prose = without_links(prose)
    if "://" in prose:
        prose = _URL.sub(" ", prose)
    if "\n" in prose or "\r" in prose:
        prose = _WRAP.sub(" ", prose)
    automatic: list[tuple[str, EntityKind]] = []
    for part in code:
        automatic += [(name, "code") for name in _code_names(part)]
    automatic += [(name, "span") for name in _spans(prose)]
    automatic += [(name, "code") for name in _identifiers(prose)]
    if len(automatic) > MAX_MENTIONS:
        automatic = [item for item, _ in Counter(automatic).most_common(MAX_MENTIONS)]
    for name, kind in automatic:
        _add(found, name, kind)
    return tuple(found.values())


@lru_cache(maxsize=8_192)
def _keyed(name: str, kind: EntityKind) -> tuple[str, Mention]:
    return entity_key(name), Mention(name, kind)


def _add(found: dict[str, Mention], name: str, kind: EntityKind) -> None:
    if len(name) <= MAX_ENTITY_CHARS:
        key, mention = _keyed(name, kind)
        if key and key not in found:
            found[key] = mention


def _title_names(title: str) -> Iterator[str]:
    """The title, and what a text calls it: without "(song)", without "The"."""
    yield title
    short = _PARENTHESIS.sub("", title).rstrip()
    yield short
    yield _without_first_words(short)


def _without_first_words(name: str) -> str:
    """Drop leading words that are in no name's front, such as "When" or "The"."""
    while True:
        first, space, rest = name.partition(" ")
        if not space or first in ACRONYMS or first.lower().rstrip(".") not in NEVER_FIRST:
            return name
        name = rest


def _spans(prose: str) -> list[str]:
    """Names by their capitals; a lone ordinary word that begins a sentence is none."""
    names = []
    for match in _SPAN.finditer(prose):
        name, number = match.group(0, 1)
        if number:
            dated = _without_first_words(name)
            if not dated[0].isdigit():
                names.append(dated)
            name = name[: -len(number)]
        is_first = True
        if " " in name:
            words = name.lower().split(" ")
            if len(words) > 10 or NEVER_ALONE.issuperset(words):
                continue
            if words[0] in NEVER_FIRST:
                name, is_first = _without_first_words(name), False
            if " " in name:
                names.append(name)
                continue
        lower = name.lower()
        if len(name) < 2 or "_" in name or (lower in NEVER_ALONE and name not in ACRONYMS):
            continue
        start, end = match.span()
        if prose[end : end + 2] in ("'t", "’t"):
            continue
        if is_first:
            before = prose[max(start - 2, 0) : start]
            is_inside = before[1:] == " " and (before[0].isalnum() or before[0] in ",;&)'’”")
            if not is_inside and (lower.endswith(_ENGLISH_ENDINGS) or f" {lower} " in prose):
                continue
        names.append(name)
    if '"' in prose or not prose.isascii():
        names += _quoted_names(prose)
    return names


def _quoted_names(prose: str) -> Iterator[str]:
    """Works named in quotation marks: mostly capitals, or between East Asian marks."""
    for match in _QUOTED.finditer(prose):
        if match[2]:
            yield match[2]
        elif " " in match[1]:
            words = match[1].split()
            if 2 * sum(map(str.istitle, words)) >= len(words):
                yield match[1]


def _identifiers(text: str) -> list[str]:
    """Identifiers among the words, by place; each word is read once."""
    if _ODD.search(text) is None:
        return []
    flat = f" {' '.join(text.split())} "
    odd = []
    at = 0
    while match := _ODD.search(flat, at):
        at = flat.index(" ", match.start())
        start = flat.rindex(" ", 0, match.start() + 1)
        if at - start <= _MAX_IDENTIFIER_CHARS and "://" not in flat[start:at]:
            odd.append(flat[start:at])
    return [_file_name(name) for name in _IDENTIFIER.findall("".join(odd))]


def _file_name(path: str) -> str:
    """A Markdown file by its stem, as wiki links name it; other paths without ./ and ../."""
    if path.endswith(".md"):
        return path.rpartition("/")[2].removesuffix(".md") or path
    return path.lstrip("./") if path.startswith(("./", "../")) else path


def _code_names(code: str) -> Iterator[str]:
    """A short code span is a name as a whole; of everything else, the identifiers in it."""
    inner = code.strip("` ")
    if "\n" not in code and "\r" not in code and 2 <= len(inner) <= 80 and inner.count(" ") < 3:
        if any(map(str.isalpha, inner)) and (inner[0].isalnum() or inner[0] in "-_/.~$@"):
            yield _file_name(inner.removesuffix("()"))
        if " " not in inner:
            return
    yield from _identifiers(inner)
