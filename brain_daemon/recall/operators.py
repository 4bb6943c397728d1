"""What must and what must not stand in a hit, word for word: phrases, exclusions, exact code.

Here: reading them out of a plain ``q``, and compiling them into the mask that every leg goes
through. Not here: what is searched for and ranked.

Characters are operators only where nobody would write them otherwise:

* ``"a phrase"``: a straight quotation mark at the start, after white space or an opening bracket,
  and one that white space, a closing bracket, a punctuation mark or the end follows, on one line.
* ``-word`` and ``-"a phrase"``: a hyphen at the start or after a blank, directly before a letter.
  A single Latin letter (``-x``), ``--flag`` and ``-5`` are text; so is a hyphen that begins a line
  of several, which is a list.
* a code in backticks: as a phrase, with one backtick on either side.

What is not closed, or holds nothing that is indexed, is text. So is everything if nothing but
exclusions would be left.
"""

import re
from collections.abc import Callable

import apsw
import msgspec
import numpy as np
import numpy.typing as npt

from brain_daemon.errors import BadRequest
from brain_daemon.index.rows import Mask
from brain_daemon.index.snapshot import Snapshot
from brain_daemon.index.visibility import Visible
from brain_daemon.recall.query import MAX_LEX_CHARS, MAX_LEX_ITEMS, Lex, QueryDoc
from brain_daemon.store import chunks, fulltext
from brain_daemon.text import verbatim
from brain_daemon.text.analyzer import Analyzer

_BATCH = 512  # texts held at one time

_operator = re.compile(
    rf"""
    (?: (?P<minus>(?<!\S)-)? (?(minus)|(?<![^\s(\[{{]))
        "(?P<phrase>[^\s"](?:[^"\n]{{0,{MAX_LEX_CHARS - 2}}}[^\s"])?)" (?![^\s.,;:!?)\]}}])
      | (?<![^\s(\[{{])
        `(?P<code>[^\s`](?:[^`\n]{{0,{MAX_LEX_CHARS - 2}}}[^\s`])?)` (?![^\s.,;:!?)\]}}])
      | (?<!\S)- (?P<word>[^\W\d_]\S{{0,{MAX_LEX_CHARS - 1}}}) (?!\S)
    )""",
    re.VERBOSE,
)
_CLOSING = ".,;:!?)]}'\""
_flag = re.compile(r"[A-Za-z]")


def normalize(query: QueryDoc, analyzer: Analyzer) -> QueryDoc:
    """Move the operators that stand in ``q`` to ``lex``, where the others are.

    Returns
    -------
    QueryDoc
        Its ``q`` holds the text that is searched for: without the marks, without what is excluded.

    Raises
    ------
    BadRequest
        If something in ``lex`` holds nothing that is indexed, so that nothing could be decided.
    """
    for name in ("phrases", "exclude", "code"):
        for position, given in enumerate(getattr(query.lex, name)):
            if not _is_indexed(given, analyzer):
                raise BadRequest(
                    f"lex.{name}[{position}] is {given!r}, which has no word; give one or more",
                    field=f"lex.{name}[{position}]",
                    value=given,
                )
    if not any(mark in query.q for mark in '"`-'):
        return query
    found: dict[str, list[str]] = {"phrases": [], "exclude": [], "code": []}
    kept: list[str] = []
    end = n_found = 0
    for match in _operator.finditer(query.q):
        kind, words, rest = _read(match)
        if n_found == MAX_LEX_ITEMS or kind is None or not _is_indexed(words, analyzer):
            continue
        n_found += 1
        found[kind].append(words)
        kept += [query.q[end : match.start()], rest if kind == "exclude" else words + rest]
        end = match.end()
    if not n_found:
        return query
    lex = msgspec.structs.replace(
        query.lex, **{name: _merged(getattr(query.lex, name), more) for name, more in found.items()}
    )
    beside = (*lex.terms, *lex.phrases, *lex.code)
    text = "".join([*kept, query.q[end:]])
    if found["exclude"] and not analyzer.query(text).terms:
        text = " ".join(beside)  # what else there is to search for
        if not analyzer.query(text).terms:
            return query
    return msgspec.structs.replace(query, q=text, lex=lex)


def decides(query: QueryDoc) -> bool:
    """Tell whether ``restrict`` may have texts to read, before anything is analysed."""
    lex = query.lex
    return bool(lex.phrases or lex.exclude or lex.code or _operator.search(query.q))


def restrict(
    lex: Lex, visible: Visible, snapshot: Snapshot, conn: apsw.Connection, analyzer: Analyzer
) -> Visible:
    """Take the rows out of a mask that lack a phrase or a code, or hold what is excluded.

    Parameters
    ----------
    lex : Lex
    visible : Visible
        The visibility predicate; only its rows are looked at.
    snapshot : Snapshot
    conn : apsw.Connection
        A reader: FTS5 names the candidates, and their texts decide.
    analyzer : Analyzer
    """
    if not (lex.phrases or lex.exclude or lex.code):
        return visible
    mask = visible.mask.copy()
    for phrase in lex.phrases:
        _keep(mask, _rows_with(phrase, verbatim.fold, mask, snapshot, conn, analyzer))
    for code in lex.code:
        _keep(mask, _rows_with(code, str, mask, snapshot, conn, analyzer))
    for words in lex.exclude:
        mask[_rows_with(words, verbatim.fold, mask, snapshot, conn, analyzer)] = 0
    mask.flags.writeable = False
    return Visible(mask, int(np.count_nonzero(mask)))


def unmet(lex: Lex, n_visible: int) -> str:
    """Say why ``restrict`` left no row."""
    asked = [f'the phrase "{phrase}"' for phrase in lex.phrases]
    asked += [f"the code `{code}`" for code in lex.code]
    asked += [f'no "{words}"' for words in lex.exclude]
    return (
        f"none of the {n_visible} visible chunks holds {' and '.join(asked)}; as plain words they "
        "are searched for without being required"
    )


def _read(match: re.Match[str]) -> tuple[str | None, str, str]:
    """Kind of an operator, its words, and what follows them in the match but is text."""
    if match["code"]:
        return "code", match["code"], ""
    if match["phrase"] and not match["minus"]:
        return "phrases", match["phrase"], ""
    if _begins_a_list(match):
        return None, "", ""
    if match["phrase"]:
        return "exclude", match["phrase"], ""
    word = match["word"].rstrip(_CLOSING)
    return None if _flag.fullmatch(word) else "exclude", word, match["word"][len(word) :]


def _begins_a_list(match: re.Match[str]) -> bool:
    before = match.string[: match.start()].rstrip(" \t")
    return before.endswith(("\n", "\r")) or (not before and "\n" in match.string.strip())


def _merged(given: tuple[str, ...], more: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*given, *more]))


def _is_indexed(words: str, analyzer: Analyzer) -> bool:
    return bool(analyzer.index("", words).body) and bool(verbatim.fold(words))


def _keep(mask: Mask, rows: npt.NDArray[np.int64]) -> None:
    mask[:] = 0
    mask[rows] = 1


def _rows_with(
    words: str,
    form: Callable[[str], str],
    mask: Mask,
    snapshot: Snapshot,
    conn: apsw.Connection,
    analyzer: Analyzer,
) -> npt.NDArray[np.int64]:
    """Rows of the mask whose title, headings or text hold the words, in one form or another."""
    pieces = [analyzer.index("", piece) for piece in words.split()]
    rows = snapshot.rows.find(fulltext.match(conn, fulltext.match_words(pieces), fulltext.ALL))
    rows = rows[rows >= 0]
    rows = rows[mask[rows] != 0]
    wanted = form(words)
    kept = []
    for start in range(0, len(rows), _BATCH):
        ids = snapshot.rows.chunk_id[rows[start : start + _BATCH]].tolist()
        for chunk_id, *texts in chunks.texts(conn, ids):
            if any(verbatim.holds(form(text), wanted) for text in texts):
                kept.append(chunk_id)
    return snapshot.rows.find(kept)
