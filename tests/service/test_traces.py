"""Traces: bounded, their owner's only, and without anything that a memory says."""

import json
from typing import Any

import pytest

from brain_daemon.errors import BadRequest, NotFound
from brain_daemon.recall.query import QueryDoc
from brain_daemon.service.traces import Traces
from tests.service.world import ADMIN, ALICE, BOB, World

ANSWER: dict[str, Any] = {
    "decision": "answered",
    "hits": [{"id": 1, "text": "secret", "score": 0.1}],
    "legs": {},
    "visible": 1,
}


def keep(traces: Traces, owner: str = "alice", **answer: Any) -> str:
    return traces.keep(owner, QueryDoc(q="who?"), ANSWER | answer, "2026-05-01T00:00:00Z")


def test_what_is_kept() -> None:
    traces = Traces()
    trace_id = keep(traces)
    found = traces.find("alice", trace_id)
    assert found is not None
    assert found["trace_id"] == trace_id
    assert found["at"] == "2026-05-01T00:00:00Z"
    assert (found["request"]["q"], found["request"]["k"]) == ("who?", 5)
    assert found["hits"] == [{"id": 1, "score": 0.1}]
    assert (found["decision"], found["visible"]) == ("answered", 1)


def test_the_oldest_leaves_first() -> None:
    traces = Traces(max_traces=3)
    ids = [keep(traces) for _ in range(5)]
    assert len(set(ids)) == 5
    assert [traces.find("alice", id_) is not None for id_ in ids] == [False] * 2 + [True] * 3
    assert len(traces) == 3


def test_the_bytes_are_bounded_too() -> None:
    traces = Traces(max_bytes=20_000)
    ids = [keep(traces, reason="x" * 4_000) for _ in range(20)]
    assert 1 < len(traces) < 6
    assert traces.find("alice", ids[-1]) is not None
    huge = keep(traces, reason="x" * 50_000)
    assert len(traces) == 1
    assert traces.find("alice", huge) is not None
    later = keep(traces)
    assert (len(traces), traces.find("alice", later) is not None) == (1, True)


def test_only_its_owner_finds_it(world: World) -> None:
    world.remember("Ana moved to Lisbon", ALICE, access_scope="team")
    answer = world.call("recall", ALICE, q="Lisbon", trace=True)
    trace_id = answer["trace_id"]
    assert world.call("trace", ALICE, trace_id=trace_id)["hits"][0]["id"] == answer["hits"][0]["id"]
    for other in (BOB, ADMIN):
        with pytest.raises(NotFound, match="there is no trace"):
            world.call("trace", other, trace_id=trace_id)


def test_a_trace_tells_the_way_to_the_answer(world: World) -> None:
    chunk_id = world.remember("Ana moved to Lisbon")
    answer = world.call("recall", q="Lisbon -Porto", trace=True)
    trace = world.call("trace", trace_id=answer["trace_id"])
    assert trace["request"]["q"] == "Lisbon -Porto"
    assert trace["lex"]["exclude"] == ["Porto"]
    assert trace["hits"][0]["provenance"] == answer["hits"][0]["provenance"]
    assert trace["hits"][0]["id"] == chunk_id
    for leg, score in (("vector", "cosine"), ("lexical", "bm25"), ("graph", "score")):
        raw = answer["hits"][0]["provenance"][leg][score]
        assert trace["ranked"][leg] == [[chunk_id, raw]]
    assert "ranked" not in answer
    assert trace["legs"] == answer["legs"]
    assert "moved" not in json.dumps(trace)


def test_of_each_list_a_trace_has_the_head(world: World) -> None:
    for i in range(60):
        world.remember(f"Ana moved to Lisbon, note {i}", entities=["Ana"])
    answer = world.call("recall", q="Ana", trace=True)
    assert {leg["candidates"] for leg in answer["legs"].values()} == {60}
    ranked = world.call("trace", trace_id=answer["trace_id"])["ranked"]
    assert [len(ranked[leg]) for leg in ("vector", "lexical", "graph")] == [50, 50, 50]
    for listed in ranked.values():
        scores = [score for _, score in listed]
        assert scores == sorted(scores, reverse=True)


def test_nothing_is_kept_unless_asked(world: World) -> None:
    world.remember("Ana moved to Lisbon")
    assert "trace_id" not in world.call("recall", q="Lisbon")
    assert len(world.memory.traces) == 0


def test_what_was_forgotten_is_gone_from_the_trace(world: World) -> None:
    gone = world.remember("Ana moved to Lisbon")
    stays = world.remember("Lisbon is sunny")
    trace_id = world.call("recall", q="Lisbon", trace=True)["trace_id"]
    world.call("forget", id=gone)
    hits = {hit["id"]: hit for hit in world.call("trace", trace_id=trace_id)["hits"]}
    assert hits[gone] == {"id": gone, "gone": True}
    assert "provenance" in hits[stays]


def test_words_and_relations_of_what_was_forgotten_are_gone_too(world: World) -> None:
    for i in range(3):
        world.remember(f"the kettle in room {i} has a quokkafoil lid", uri=f"kettle {i}")
    for i in range(40):
        world.remember(f"a sentence about gardening, number {i}")
    relation = {"subject": "Ana", "relation": "secretly_meets", "object": "Bruno"}
    world.remember("x", uri="stated", relations=[relation])
    stays = world.remember("likes cheese", entities=["Bruno"])

    def asked(q: str) -> str:
        trace_id = world.call("recall", q=q, trace=True, abstain=False, k=9)["trace_id"]
        return str(trace_id)

    kettle, ana = asked("kettle room"), asked("Ana")
    said = json.dumps([world.call("trace", trace_id=id_) for id_ in (kettle, ana)])
    assert "quokkafoil" in said
    assert "secretly_meets" in said
    for uri in ("kettle 0", "kettle 1", "kettle 2", "stated"):
        world.call("forget", uri=uri)
    kept = [world.call("trace", trace_id=id_) for id_ in (kettle, ana)]
    assert "quokkafoil" not in json.dumps(kept)
    assert "secretly_meets" not in json.dumps(kept)
    assert (kept[0]["expansion"]["fired"], kept[0]["expansion"]["terms"]) == (True, [])
    assert kept[1]["legs"]["graph"]["entities"] == []
    (hit,) = [hit for hit in kept[1]["hits"] if hit["id"] == stays]
    assert hit["provenance"]["graph"]["path"] is None
    assert hit["provenance"]["graph"]["rank"] > 0


@pytest.mark.parametrize("trace_id", ["0" * 16, "x"])
def test_an_unknown_trace_is_not_found(world: World, trace_id: str) -> None:
    with pytest.raises(NotFound, match="newest 256"):
        world.call("trace", trace_id=trace_id)


@pytest.mark.parametrize("trace_id", ["", "x" * 65, 5, None])
def test_what_is_no_id_is_refused(world: World, trace_id: Any) -> None:
    with pytest.raises(BadRequest, match="1 to 64 characters"):
        world.call("trace", trace_id=trace_id)


def test_a_block_comes_when_asked_for(world: World) -> None:
    world.remember("Ana moved to Lisbon", node_kind="fact")
    assert "render" not in world.call("recall", q="Lisbon")
    assert "render" not in world.call("recall", q="Lisbon", render=False)
    for asked in ({"render": True}, {"max_context_tokens": 200}):
        block = world.call("recall", q="Lisbon", **asked)["render"]
        assert "\n> Ana moved to Lisbon\n</untrusted-data " in block["text"]
        assert "[src: memory · mk: fact · lb: - · reg: -]" in block["text"]
        assert 0 < block["tokens"] <= 200
    with pytest.raises(BadRequest, match="128"):
        world.call("recall", q="Lisbon", max_context_tokens=127)
