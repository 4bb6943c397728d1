"""Which recalls hold the event loop, and which go to a thread."""

import pytest

from brain_daemon.recall.query import decode_query
from brain_daemon.service import recall
from brain_daemon.service.dispatch import OPERATIONS
from tests.service.world import World


def test_reading_many_texts_is_left_to_a_thread(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = world.remember("The kestrel of the tower")
    world.remember("The kestrel of the moor")
    plain, exact = (decode_query({"q": q}) for q in ("the kestrel", "kestrel -moor"))
    heavy = OPERATIONS["recall"].heavy
    assert not heavy(world.memory, plain)
    assert not heavy(world.memory, exact)
    monkeypatch.setattr(recall, "EXACT_INLINE_ROWS", 1)
    assert not heavy(world.memory, plain)
    assert heavy(world.memory, exact)
    assert [hit["id"] for hit in world.call("recall", q=exact.q)["hits"]] == [wanted]
