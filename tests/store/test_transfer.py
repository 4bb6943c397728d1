import apsw

from brain_daemon.model import Mention, Relation
from brain_daemon.store import documents, transfer

from .samples import WRITER, make_chunk, make_document


def test_documents_come_by_first_chunk_with_all_that_cannot_be_derived(
    conn: apsw.Connection,
) -> None:
    rich = make_chunk(
        "Ana moved to Lisbon",
        names=("Ana", "Lisbon"),
        relations=(("Ana", "lives_in", "Lisbon"),),
        heading_path=("Life",),
        lines=(3, 9),
    )
    with conn:
        documents.put(conn, make_document("gone"), WRITER, 0)
        documents.put(conn, make_document("first", uri="file:a"), WRITER, 1)
        documents.put(conn, make_document(rich, "tail", title="T", pii=True, seq=3), WRITER, 2)
        documents.put(conn, make_document("revised", uri="file:a"), WRITER, 3)
        documents.remove(conn, 1)
    (about_ana, revised) = transfer.iter_documents(conn)
    assert [exported.document.uri for exported in (about_ana, revised)] == ["memory:3", "file:a"]
    assert (revised.document.revision, revised.document.stored_at_us) == (2, 3)
    assert about_ana.document.tags.pii
    (chunk, mentions, relations), (tail, *_) = about_ana.chunks
    assert (chunk.text, chunk.heading_path, chunk.line_start) == (rich.text, ("Life",), 3)
    assert mentions == [Mention("Ana", "span"), Mention("Lisbon", "span")]
    assert relations == [Relation("Ana", "lives_in", "Lisbon")]
    assert tail.text == "tail"


def test_a_page_goes_on_after_the_last_first_chunk(conn: apsw.Connection) -> None:
    with conn:
        for uri in "abc":
            documents.put(conn, make_document(uri, "more", uri=uri), WRITER, 0)
    first, *rest = transfer.iter_documents(conn)
    assert list(transfer.iter_documents(conn, first.first_chunk_id)) == rest
    assert list(transfer.iter_documents(conn, rest[-1].first_chunk_id)) == []
