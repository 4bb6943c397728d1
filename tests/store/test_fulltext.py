import math
from collections.abc import Iterator

import apsw
import pytest

from brain_daemon.model import Terms
from brain_daemon.store import documents, fulltext, maintenance, meta, scan

from .samples import ANALYZER, WRITER, make_document

HOSTILE = [
    'AND "', "NEAR(", "(", "*", "^", "-foo", "col:x", "DEC-0054", "C++", "20.04", "don't",
    "status: done", "body : x", "OR", "NOT", '"', '""', "a\0b", "\\", "{title}", "", "   ", "'; --",
]  # fmt: skip


def put(conn: apsw.Connection, *texts: str, title: str = "") -> None:
    with conn:
        for text in texts:
            uri = f"text {conn.total_changes()}"  # the same text may stand in several documents
            documents.put(conn, make_document(text, title=title, uri=uri), WRITER, 0)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_term_is_ever_syntax(conn: apsw.Connection, text: str) -> None:
    put(conn, "ordinary words")
    for expression in (
        fulltext.match_any([text]),
        fulltext.match_words([Terms("", text, text)] * 2),
    ):
        assert fulltext.match(conn, expression, 10) == []
        assert fulltext.rank_bm25(conn, expression, 10) == []


@pytest.mark.parametrize("text", ["DEC-0054", "C++", "20.04", "don't", "foo_bar.baz", "成语"])
def test_what_was_stored_is_found_by_its_own_terms(conn: apsw.Connection, text: str) -> None:
    put(conn, f"here is {text} indeed", "and here it is not")
    assert fulltext.match(conn, fulltext.match_any(ANALYZER.query(text).terms), 10)[0] == 1


def test_no_terms_match_nothing(conn: apsw.Connection) -> None:
    put(conn, "words")
    assert fulltext.match(conn, fulltext.match_any([]), 10) == []
    assert fulltext.match(conn, fulltext.match_words([Terms("", "", "")]), 10) == []
    assert fulltext.rank_bm25(conn, fulltext.match_any([]), 10) == []


def test_words_in_a_row_are_found_however_they_are_compounded(conn: apsw.Connection) -> None:
    put(conn, "my fooBar is", "my foobar is", "my foo bar is", "foobar is my", "is fooBar my", "is")
    for words, found in (("foobar is", [1, 2, 4, 5]), ("fooBar is", [1, 2, 3, 4, 5])):
        pieces = [ANALYZER.index("", word) for word in words.split()]
        assert fulltext.match(conn, fulltext.match_words(pieces), fulltext.ALL) == found


def test_match_limits_and_orders_by_id(conn: apsw.Connection) -> None:
    put(conn, *["same"] * 5)
    assert fulltext.match(conn, fulltext.match_any(["same"]), 3) == [1, 2, 3]


def test_rank_bm25_is_the_formula_with_ties_by_id(conn: apsw.Connection) -> None:
    put(conn, "red", "red red blue", "blue", "gray gray", "red")
    ranked = fulltext.rank_bm25(conn, fulltext.match_any(["red"]), 10)
    # 3 of 5 rows hold the term, so FTS5 floors its idf at 1e-6.
    average = 8 / 5
    expected = {
        row: 1e-6 * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / average))
        for row, tf, length in ((1, 1, 1), (2, 2, 3), (5, 1, 1))
    }
    assert {row: pytest.approx(score, rel=1e-9) for row, score in ranked} == expected
    assert [row for row, _ in ranked] == sorted(expected, key=lambda r: (-expected[r], r))
    (one,) = fulltext.rank_bm25(conn, fulltext.match_any(["gray"]), 10)
    idf = math.log((5 - 1 + 0.5) / (1 + 0.5))
    assert one[1] == pytest.approx(idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 2 / average)))


def german(conn: apsw.Connection) -> Iterator[tuple[int, Terms]]:
    for chunk_id, _, _, text in list(scan.texts(conn)):
        yield chunk_id, Terms("", text.upper(), "neu")


def test_replace_terms_swaps_analyser_and_terms(conn: apsw.Connection) -> None:
    put(conn, "rot", "blau")
    with conn:
        documents.remove(conn, 1)
    assert fulltext.replace_terms(conn, 9, "german", german(conn)) == 1
    assert [terms for _, terms in scan.terms(conn)] == [b"BLAU neu"]
    assert meta.read(conn, "language") == "german"
    assert meta.read(conn, "analyzer_version") == "9"
    put(conn, "gelb")
    assert maintenance.integrity_findings(conn) == []
    assert fulltext.match(conn, fulltext.match_any(["gelb", "neu"]), 10) == [2, 3]


def test_an_interrupted_replacement_keeps_the_old_terms_and_is_gone_on_with(
    conn: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "STAGING_BATCH", 2)
    put(conn, *(f"word{number}" for number in range(5)))
    before = list(scan.terms(conn))

    def interrupted() -> Iterator[tuple[int, Terms]]:
        for number, row in enumerate(german(conn)):
            if number == 3:
                raise KeyboardInterrupt
            yield row

    def left() -> Iterator[tuple[int, Terms]]:
        done = fulltext.staged_ids(conn, 9, "german")
        return (row for row in german(conn) if row[0] not in done)

    with pytest.raises(KeyboardInterrupt):
        fulltext.replace_terms(conn, 9, "german", interrupted())
    assert fulltext.staged_ids(conn, 9, "german") == {1, 2}
    with pytest.raises(ValueError, match="2 chunks have no new terms"):
        fulltext.replace_terms(conn, 9, "german", iter(list(left())[:1]))
    assert list(scan.terms(conn)) == before
    assert meta.read(conn, "language") == "english"
    assert maintenance.integrity_findings(conn) == []
    with conn:
        documents.remove(conn, 1)  # staged, and no longer there
    put(conn, "word6")
    assert [chunk_id for chunk_id, _ in left()] == [4, 5, 6]
    assert fulltext.replace_terms(conn, 9, "german", left()) == 5
    assert [terms for _, terms in scan.terms(conn)] == [
        f"WORD{number} neu".encode() for number in (1, 2, 3, 4, 6)
    ]
    assert maintenance.integrity_findings(conn) == []


@pytest.mark.parametrize("other", [(10, "german"), (9, "none")])
def test_what_another_analyser_staged_does_not_count(
    conn: apsw.Connection, other: tuple[int, str]
) -> None:
    put(conn, "rot", "blau")
    with pytest.raises(ValueError, match="1 chunks have no new terms"):
        fulltext.replace_terms(conn, 9, "german", iter([(1, Terms("", "ROT", ""))]))
    assert fulltext.staged_ids(conn, *other) == set()
    assert fulltext.replace_terms(conn, *other, german(conn)) == 2
    assert fulltext.staged_ids(conn, 9, "german") == set()
