"""A leg that fails: the others answer, and the answer says so; it is never silently poorer."""

import logging
from typing import Any

import pytest

from brain_daemon.recall import graph, lexical, vector
from tests.recall.memories import Memories

MODULES = {"vector": vector, "lexical": lexical, "graph": graph}
STEPS = [(name, "search") for name in MODULES]
STEPS += [("vector", "add_feedback"), ("graph", "link_entities")]


def break_leg(name: str, monkeypatch: pytest.MonkeyPatch, step: str = "search") -> None:
    def broken(*args: Any, **options: Any) -> None:
        raise RuntimeError("a kernel gave up")

    monkeypatch.setattr(MODULES[name], step, broken)


@pytest.mark.parametrize(("name", "step"), STEPS)
def test_the_other_legs_answer(
    name: str,
    step: str,
    memories: Memories,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    wanted = memories.add("Ana moved to Lisbon in May", names=["Ana"])
    break_leg(name, monkeypatch, step)
    with caplog.at_level(logging.ERROR):
        answer = memories.recall("When did Ana move to Lisbon?", abstain=True)
    assert (answer["decision"], [hit["id"] for hit in answer["hits"]]) == ("answered", [wanted])
    assert answer["hits"][0]["provenance"][name] is None
    status = {leg: state["status"] for leg, state in answer["legs"].items()}
    assert status == {leg: "failed" if leg == name else "ran" for leg in MODULES}
    assert "a kernel gave up" in caplog.text
    assert "a kernel gave up" not in str(answer)


def test_no_hits_without_a_leg_is_told_apart_from_nothing_found(
    memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories.add("Ana moved to Lisbon in May")
    assert memories.recall("zorblax mubelo", abstain=True)["decision"] == "low_confidence"
    break_leg("vector", monkeypatch)
    answer = memories.recall("zorblax mubelo", abstain=True)
    assert (answer["decision"], answer["hits"]) == ("leg_down", [])
    assert answer["reason"].startswith("without the vector leg: ")
