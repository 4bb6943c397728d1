import apsw
from msgspec.structs import replace

from brain_daemon.model import PreparedChunk
from brain_daemon.store import chunks, documents, quarantine

from .samples import WRITER, make_chunk, make_document


def flagged(text: str, reason: str = "override") -> PreparedChunk:
    return replace(make_chunk(text), flagged=True, flag_reason=reason)


def test_a_flagged_chunk_keeps_its_reason_and_its_place(conn: apsw.Connection) -> None:
    with conn:
        put = documents.put(conn, make_document("plain", flagged("held")), WRITER, 0)
    assert (put.flagged, put.is_flagged) == ([False, True], True)
    plain, held = chunks.of_document(conn, put.document_id)
    assert (plain.flagged, plain.flag_reason) == (False, None)
    assert (held.flagged, held.flag_reason) == (True, "override")
    assert quarantine.page(conn) == [held]
    assert quarantine.count(conn) == 1


def test_pages_follow_the_ids(conn: apsw.Connection) -> None:
    with conn:
        for n in range(5):
            documents.put(conn, make_document(flagged(f"held {n}")), WRITER, 0)
    assert [chunk.id for chunk in quarantine.page(conn, limit=2)] == [1, 2]
    assert [chunk.id for chunk in quarantine.page(conn, after=2, limit=9)] == [3, 4, 5]


def test_the_same_request_again_tells_that_it_is_held(conn: apsw.Connection) -> None:
    document = make_document(flagged("held"), uri="file:a")
    with conn:
        documents.put(conn, document, WRITER, 0)
        assert documents.put(conn, document, WRITER, 0).is_flagged
        quarantine.release(conn, 1, WRITER, 7)
        again = documents.put(conn, document, WRITER, 0)
    assert (again.unchanged, again.is_flagged) == (True, False)


def test_a_release_is_remembered_for_just_what_it_was_about(conn: apsw.Connection) -> None:
    def revised(*parts: PreparedChunk | str, title: str = "") -> list[bool]:
        with conn:
            return documents.put(
                conn, make_document(*parts, uri="file:a", title=title), WRITER, 0
            ).flagged

    assert revised(flagged("held")) == [True]
    with conn:
        quarantine.release(conn, 1, WRITER, 7)
    assert revised(flagged("held"), "more") == [False, False]
    assert revised("less", flagged("held")) == [False, False]
    assert revised(flagged("held", "leak, override")) == [True]
    with conn:
        quarantine.release(conn, quarantine.page(conn)[0].id, WRITER, 7)
    assert revised(flagged("held", "leak, override"), title="another") == [True]


def test_decisions_are_kept_and_unknown_ids_decide_nothing(conn: apsw.Connection) -> None:
    with conn:
        documents.put(conn, make_document("plain", flagged("held")), WRITER, 0)
        assert quarantine.release(conn, 1, WRITER, 5) is None
        assert quarantine.delete(conn, 99, WRITER, 5) is None
        removal = quarantine.delete(conn, 2, WRITER, 6)
    assert removal is not None
    assert removal.chunk_ids == [2]
    (event,) = quarantine.events(conn)
    assert event[1:6] == (6, "delete", 2, 1, "override")
    assert event[6:] == (WRITER["uid"], WRITER["pid"], WRITER["name"])


def test_holding_is_for_what_was_never_decided_upon(conn: apsw.Connection) -> None:
    with conn:
        documents.put(conn, make_document("plain", flagged("held")), WRITER, 0)
        assert quarantine.hold(conn, 1, "leak", WRITER, 3)
        assert not quarantine.hold(conn, 1, "leak", WRITER, 3)
        assert not quarantine.hold(conn, 2, "leak", WRITER, 3)
        assert not quarantine.hold(conn, 99, "leak", WRITER, 3)
        quarantine.release(conn, 1, WRITER, 4)
        assert not quarantine.hold(conn, 1, "role", WRITER, 5)
    assert quarantine.count(conn) == 1
    assert [event[1:6] for event in quarantine.events(conn)] == [
        (3, "hold", 1, 1, "leak"),
        (4, "release", 1, 1, "leak"),
    ]
    assert [event.at_us for event in quarantine.events(conn, after=1)] == [4]
    assert [event.at_us for event in quarantine.events(conn, limit=1)] == [3]
