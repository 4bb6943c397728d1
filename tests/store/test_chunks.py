import apsw

from brain_daemon.model import StoredChunk
from brain_daemon.store import chunks, documents

from .samples import WRITER, make_chunk, make_document


def test_fetch_gives_back_what_was_stored(conn: apsw.Connection) -> None:
    text = "line one\n\ttabbed  \0 NUL, 🎉 and 成语\r\n"
    chunk = make_chunk(text, heading_path=("Ä", 'with "quotes"'), lines=(3, 5))
    document = make_document(
        "first", chunk, uri="file:a", title="Title", node_kind="note", pii=True
    )
    with conn:
        documents.put(conn, document, WRITER, 0)
    assert chunks.fetch(conn, [2]) == [
        StoredChunk(
            id=2,
            document_id=1,
            ordinal=1,
            uri="file:a",
            title="Title",
            revision=1,
            text=text,
            heading_path=("Ä", 'with "quotes"'),
            line_start=3,
            line_end=5,
            tags=document.tags,
            writer=WRITER,
            flagged=False,
        )
    ]


def test_fetch_keeps_the_order_asked_and_skips_the_missing(conn: apsw.Connection) -> None:
    with conn:
        for number in range(5):
            documents.put(conn, make_document(f"text {number}"), WRITER, 0)
    asked = [4, 99, 2, 2, -1, 5, 2**62]
    assert [chunk.id for chunk in chunks.fetch(conn, asked)] == [4, 2, 2, 5]
    assert chunks.fetch(conn, []) == []
    assert chunks.of_document(conn, 99) == []


def test_fetch_is_one_statement_of_fixed_text(conn: apsw.Connection) -> None:
    statements: list[str] = []
    conn.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: statements.append(event["sql"]))
    chunks.fetch(conn, [1])
    chunks.fetch(conn, range(2000))
    conn.trace_v2(0)
    assert len(statements) == 2
    assert statements[0] == statements[1]


def test_texts_gives_all_that_a_chunk_says(conn: apsw.Connection) -> None:
    with conn:
        chunk = make_chunk("text", heading_path=("Ä", "B"))
        documents.put(conn, make_document("first", chunk, title="Title"), WRITER, 0)
    assert sorted(chunks.texts(conn, [2, 99, 1])) == [
        (1, "first", "Title"),
        (2, "text", "Title", "Ä", "B"),
    ]
