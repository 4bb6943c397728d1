"""What a principal may take: bytes stored, and calls in flight."""

import asyncio
import dataclasses
import threading
from typing import Any

import pytest
from msgspec.structs import replace

from brain_daemon.errors import Overloaded, QuotaExceeded
from brain_daemon.model import Quota
from brain_daemon.service import dispatch
from tests.service.world import ADMIN, ALICE, BOB, World

POOR = replace(ALICE, quota=Quota(bytes=2000), rule="rule 2 of p.toml (uid 1000)")


def used(world: World, principal: Any = ALICE) -> int:
    return int(world.call("whoami", principal)["usage"]["bytes"])


def test_what_would_be_too_much_is_refused_and_nothing_is_stored(world: World) -> None:
    world.remember("a" * 700, POOR)
    before = used(world)
    assert 700 + 512 < before < 2000
    with pytest.raises(QuotaExceeded, match="limit 2000: forget") as caught:
        world.remember("b" * 700, POOR)
    assert caught.value.detail["used"] == before
    assert used(world) == before
    assert world.call("stats", ADMIN)["documents"] == 1
    world.remember("c" * 100, POOR)  # what fits is stored


@pytest.mark.parametrize("method", ["remember", "ingest_markdown", "link"])
def test_every_way_of_writing_is_bounded(world: World, method: str) -> None:
    params: dict[str, dict[str, Any]] = {
        "remember": {"text": "x"},
        "ingest_markdown": {"content": "x", "uri": "x.md"},
        "link": {"subject": "Ana", "relation": "knows", "object": "Bo"},
    }
    with pytest.raises(QuotaExceeded):
        world.call(method, replace(POOR, quota=Quota(bytes=500)), **params[method])


def test_small_texts_with_many_names_are_charged_for_them(world: World) -> None:
    names = [f"Entity {n} {'x' * 100}" for n in range(100)]
    with pytest.raises(QuotaExceeded):
        world.remember("x", POOR, entities=names)
    relations = [
        {"subject": f"S{n} {'y' * 90}", "relation": "knows", "object": "Zed"} for n in range(50)
    ]
    with pytest.raises(QuotaExceeded):
        world.remember("x", POOR, relations=relations)


def test_forgetting_makes_room_and_is_never_refused(world: World) -> None:
    first = world.remember("a" * 800, POOR)
    over = replace(POOR, quota=Quota(bytes=10))
    with pytest.raises(QuotaExceeded):
        world.remember("b", over)
    world.call("forget", over, id=first)
    assert used(world) == 0
    world.remember("b" * 800, POOR)


def test_a_revision_is_charged_by_what_it_adds(world: World) -> None:
    world.remember("a" * 800, POOR, uri="u")
    world.remember("b" * 810, POOR, uri="u")
    over = replace(POOR, quota=Quota(bytes=10))
    for _ in range(2):  # smaller than it was, then unchanged
        world.call("remember", over, text="c" * 800, uri="u")
    with pytest.raises(QuotaExceeded):
        world.remember("d" * 801, over, uri="u")
    assert world.call("stats", ADMIN)["documents"] == 1


def test_one_owners_bytes_are_not_anothers(world: World) -> None:
    world.remember("a" * 800, BOB)
    assert used(world) == 0
    world.remember("a" * 800, POOR)


def test_a_refusal_harms_no_neighbour_of_the_same_commit(world: World) -> None:
    async def both() -> list[Any]:
        calls = [
            world._dispatcher("remember", {"text": "x" * n}, POOR, False) for n in (10, 1700, 20)
        ]
        return await asyncio.gather(*calls, return_exceptions=True)

    first, second, third = world._loop.run_until_complete(both())
    assert first["created"]
    assert isinstance(second, QuotaExceeded)
    assert third["created"]


def test_what_is_counted_stays_true_over_every_change(world: World) -> None:
    text = "\n\n".join(f"# Part {n}\n\nThe zebra number {n} is striped." for n in range(20))
    stored = world.call("ingest_markdown", content=text, uri="z.md")
    world.call("ingest_markdown", content=text + "\n\n# More\n\nand more", uri="z.md")
    world.call("ingest_markdown", content=text, uri="z.md")
    records = world.call("export", ADMIN)["records"]
    before = used(world)
    assert before > len(text)
    (hit, *_) = world.call("recall", q="zebra number 3", abstain=False)["hits"]
    world.call("forget", id=hit["id"])
    assert used(world) < before
    assert world.call("health", ADMIN, deep=True)["reasons"] == []
    world.call("forget", uri="z.md")
    assert used(world) == 0
    world.call("import", ADMIN, records=records)
    assert used(world) == before
    assert stored["created"]
    assert world.call("health", ADMIN, deep=True)["reasons"] == []


def test_calls_in_flight_are_counted_over_all_connections(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = replace(ALICE, quota=Quota(in_flight=3), roles=ADMIN.roles, rule="rule 2")
    release = threading.Event()
    operation = dataclasses.replace(dispatch.OPERATIONS["health"], run=lambda *_: release.wait(30))
    monkeypatch.setitem(dispatch.OPERATIONS, "health", operation)

    async def scenario() -> None:
        call = world._dispatcher
        waiting = [call("health", {"deep": True}, busy, False) for _ in range(3)]
        for method, params in (("health", {"deep": True}), ("remember", {"text": "x"})):
            with pytest.raises(Overloaded, match=r"alice has 3 calls in flight.*rule 2"):
                call(method, params, busy, False)
        assert call("ping", {}, busy, False) == "pong"  # what never waits is not in flight
        other = call("health", {"deep": True}, ADMIN, False)
        waiting[2].drop()  # its client went away before it began
        assert world.memory.metrics.in_flight == 3
        more = call("health", {"deep": True}, busy, False)
        with pytest.raises(Overloaded):
            call("health", {"deep": True}, busy, False)
        release.set()
        assert await asyncio.gather(*waiting[:2], more, other) == [True] * 4
        await call("remember", {"text": "x"}, busy, False)
        await asyncio.sleep(0)
        assert not call._in_flight

    world._loop.run_until_complete(scenario())
