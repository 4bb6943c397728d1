"""The FTS5 table: analysed terms, safe MATCH expressions, the BM25 oracle, integrity.

FTS5 keeps the terms of ``text.analyzer`` as they are (its tokenizer splits at spaces only), so
it finds phrases and is the oracle of the resident BM25 kernel. Not here: analysing text.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import islice

import apsw

from brain_daemon.model import Terms
from brain_daemon.store import meta
from brain_daemon.text.analyzer import FTS5_TOKENIZE

STAGING_BATCH = 1_000
ALL = -1  # as a limit: every match

INSERT = "INSERT INTO chunk_fts(rowid, title, body, extra) VALUES (?, ?, ?, ?)"


def create(conn: apsw.Connection, table: str = "chunk_fts") -> None:
    """Create the empty table."""
    conn.execute(
        f"CREATE VIRTUAL TABLE {table} USING fts5(title, body, extra, tokenize={FTS5_TOKENIZE})"
    )


def write_analyzer(conn: apsw.Connection, analyzer_version: int, language: str) -> None:
    """Record which rules made the terms."""
    meta.write(conn, "analyzer_version", str(analyzer_version))
    meta.write(conn, "language", language)


def match_any(terms: Iterable[str]) -> str:
    """Give the MATCH expression for chunks with any of the terms; empty for no terms.

    Parameters
    ----------
    terms : iterable of str
        Whatever they hold, each is a string to FTS5 and never an operator.
    """
    return " OR ".join(map(_quote, terms))


def match_words(words: Sequence[Terms]) -> str:
    """Give the MATCH expression for chunks where words may stand in a row; empty for no words.

    Parameters
    ----------
    words : sequence of Terms
        One for each word, analysed alone. A chunk may write a word as a compound (``fooBar``) where
        another has it in one piece, so that its terms differ: then something of it is among the
        extra terms of one of the two, and the words and their parts may stand anywhere.
    """
    split = [(word.body.split(), word.extra.split()) for word in words if word.body.strip()]
    if not split:
        return ""
    sequence = _quote(" ".join(part for parts, _ in split for part in parts))
    compounded = [
        expression
        for parts, wholes in split
        for expression in (*map(_quote, wholes), *(f"extra : {_quote(part)}" for part in parts))
    ]
    each = [
        " OR ".join(["(" + " AND ".join(map(_quote, parts)) + ")", *map(_quote, wholes)])
        for parts, wholes in split
    ]
    return f"{sequence} OR (({' OR '.join(compounded)}) AND ({') AND ('.join(each)}))"


def _quote(term: str) -> str:
    # FTS5 ends its expression at a NUL.
    return '"' + term.replace("\0", " ").replace('"', '""') + '"'


def match(conn: apsw.Connection, expression: str, limit: int) -> list[int]:
    """Give the chunk ids that match, ascending, at most ``limit`` (`ALL`: every one)."""
    if not expression:
        return []
    statement = "SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ? ORDER BY rowid LIMIT ?"
    return [row[0] for row in conn.execute(statement, (expression, limit))]


def terms(conn: apsw.Connection, ids: Sequence[int]) -> dict[int, list[str]]:
    """Give the terms of chunks by id, all columns together; missing ones are left out."""
    statement = "SELECT rowid, title, body, extra FROM chunk_fts WHERE rowid IN carray(?)"
    rows = conn.execute(statement, (apsw.carray(array("q", ids)),))
    return {row[0]: " ".join(row[1:]).split() for row in rows}


def rank_bm25(conn: apsw.Connection, expression: str, limit: int) -> list[tuple[int, float]]:
    """Rank the chunks that match by FTS5's own BM25: the oracle of the resident kernel.

    Returns
    -------
    list of (chunk_id, score)
        Larger is better (FTS5's value negated); ties by id ascending.
    """
    if not expression:
        return []
    # By the function and not by the hidden column ``rank``, which is sorted match by match.
    statement = (
        "SELECT rowid, -bm25(chunk_fts) AS score FROM chunk_fts WHERE chunk_fts MATCH ? "
        "ORDER BY score DESC, rowid LIMIT ?"
    )
    return list(conn.execute(statement, (expression, limit)))


def replace_terms(
    conn: apsw.Connection,
    analyzer_version: int,
    language: str,
    rows: Iterable[tuple[int, Terms]],
) -> int:
    """Replace every chunk's terms by another analyser's, in transactions of its own.

    The new table is built beside the old one, a batch a commit, and takes its name in one last
    transaction. Killed at any moment, the store still holds the old one whole, and what was done
    counts again when the same analyser is given (see `staged_ids`).

    Parameters
    ----------
    conn : apsw.Connection
        The writer, outside a transaction; nobody else writes meanwhile.
    rows : iterable of (chunk_id, Terms)
        For every chunk that `staged_ids` does not name; read once, lazily.

    Returns
    -------
    int
        Chunks now indexed.

    Raises
    ------
    ValueError
        A chunk has no new terms; the old table stays.
    """
    staged_ids(conn, analyzer_version, language)
    iterator = iter(rows)
    while batch := list(islice(iterator, STAGING_BATCH)):
        with conn:
            conn.executemany(
                "INSERT INTO staged_fts(rowid, title, body, extra) VALUES (?, ?, ?, ?)",
                [(chunk_id, t.title, t.body, t.extra) for chunk_id, t in batch],
            )
    with conn:
        missing = conn.execute(
            "SELECT count(*) FROM chunk WHERE id NOT IN (SELECT id FROM staged_fts_docsize)"
        ).get
        if missing:
            raise ValueError(f"{missing} chunks have no new terms")
        # What left the store since an interrupted run.
        conn.execute("DELETE FROM staged_fts WHERE rowid NOT IN (SELECT id FROM chunk)")
        conn.execute("DROP TABLE chunk_fts")
        conn.execute("ALTER TABLE staged_fts RENAME TO chunk_fts")
        conn.execute("DELETE FROM meta WHERE key = 'staged_analyzer'")
        write_analyzer(conn, analyzer_version, language)
    return int(conn.execute("SELECT count(*) FROM chunk").get)


def staged_ids(conn: apsw.Connection, analyzer_version: int, language: str) -> set[int]:
    """Give the chunks that an interrupted `replace_terms` by this analyser has already done."""
    analyzer = f"{analyzer_version} {language}"
    if meta.read(conn, "staged_analyzer") != analyzer:
        with conn:
            drop_staged(conn)
            create(conn, "staged_fts")
            meta.write(conn, "staged_analyzer", analyzer)
    return {row[0] for row in conn.execute("SELECT id FROM staged_fts_docsize")}


def drop_staged(conn: apsw.Connection) -> None:
    """Remove what an interrupted `replace_terms` left."""
    conn.execute("DROP TABLE IF EXISTS staged_fts")
    conn.execute("DELETE FROM meta WHERE key = 'staged_analyzer'")
