"""A hash for each chunk, of its text and tags, also in stores from before there was one."""

from typing import Any

import apsw
import pytest

from brain_daemon.store import chunks, copies, documents, schema

from .samples import WRITER, make_document, make_older, model_facts

TEXT = "Grüße aus Köln 🎉"


def add(conn: apsw.Connection, *texts: str, **tags: Any) -> list[int]:
    with conn:
        return documents.put(conn, make_document(*texts, **tags), WRITER, 0).chunk_ids


def shared(conn: apsw.Connection, *ids: int) -> list[int | None]:
    return [chunk.copy_hash for chunk in chunks.fetch(conn, ids)]


def test_copies_share_a_hash_and_one_without_copies_tells_none(conn: apsw.Connection) -> None:
    one, other = add(conn, TEXT, "another text", uri="a")
    assert shared(conn, one, other) == [None, None]
    (copy,) = add(conn, TEXT, uri="b", title="Another title", owner="bob")
    hash_, same, none = shared(conn, one, copy, other)
    assert hash_ == same
    assert none is None
    assert hash_ is not None
    assert copies.ids(conn, [hash_, hash_ ^ 1]) == {hash_: [one, copy], hash_ ^ 1: []}
    with conn:
        documents.remove_chunk(conn, copy)
    assert shared(conn, one) == [None]


@pytest.mark.parametrize(
    "tags",
    [
        {"pii": True},
        {"domain": "d"},
        {"access_scope": "team"},
        {"node_kind": "note"},
        {"lawful_basis": "note"},
        {"region": "note"},
    ],
    ids=str,
)
def test_other_tags_are_another_hash(conn: apsw.Connection, tags: dict[str, Any]) -> None:
    ids = [*add(conn, TEXT, uri="a"), *add(conn, TEXT, uri="b", **tags)]
    assert shared(conn, *ids) == [None, None]


def test_the_hash_of_a_text_stays_what_it_is() -> None:
    """It is stored: another release must give the same."""
    hash_ = copies.hash_of(TEXT, "default", "private", False, None, None, None)
    assert hash_ == -8336967333731154986


def test_an_older_store_is_given_the_hashes(conn: apsw.Connection) -> None:
    for i, tags in enumerate([{}, {}, {"pii": True}, {"region": "EU"}, {"region": "EU"}]):
        add(conn, TEXT, f"text {i}", uri=f"u{i}", **tags)
    before = conn.execute("SELECT id, copy_hash FROM chunk").fetchall()
    make_older(conn, 5)
    schema.prepare(conn, **model_facts())
    assert conn.execute("SELECT id, copy_hash FROM chunk").fetchall() == before
    assert len({hash_ for _, hash_ in before}) == 5 + 3


def test_copies_are_found_by_the_index(conn: apsw.Connection) -> None:
    plan = conn.execute(
        f"EXPLAIN QUERY PLAN SELECT {copies.SHARED} FROM chunk WHERE id = 1"
    ).fetchall()
    assert any("COVERING INDEX chunk_copy (copy_hash=?)" in row[3] for row in plan)
