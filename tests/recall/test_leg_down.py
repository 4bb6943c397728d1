"""A leg that fails: the others answer, and the answer says so; it is never silently poorer."""

import logging
from typing import Any

import apsw
import pytest

from brain_daemon.embedding.model import StaticModel
from brain_daemon.recall import expansion, graph, lexical, rescue, vector
from tests.recall.memories import Memories

MODULES = {"vector": vector, "lexical": lexical, "graph": graph}
STEPS: list[tuple[str, Any, str]] = [(name, room, "search") for name, room in MODULES.items()]
STEPS += [
    ("vector", vector, "add_feedback"),
    ("vector", StaticModel, "embed"),
    ("vector", StaticModel, "length"),
    ("graph", graph, "link_entities"),
]


def break_step(room: Any, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **options: Any) -> None:
        raise RuntimeError("a kernel gave up")

    monkeypatch.setattr(room, step, broken)


@pytest.mark.parametrize(
    ("name", "room", "step"), STEPS, ids=lambda part: getattr(part, "__name__", part)
)
def test_the_other_legs_answer(
    name: str,
    room: Any,
    step: str,
    memories: Memories,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    wanted = memories.add("Ana moved to Lisbon in May", names=["Ana"])
    break_step(room, step, monkeypatch)
    with caplog.at_level(logging.ERROR):
        answer = memories.recall("When did Ana move to Lisbon?", abstain=True)
    assert (answer["decision"], [hit["id"] for hit in answer["hits"]]) == ("answered", [wanted])
    assert answer["hits"][0]["provenance"][name] is None
    status = {leg: state["status"] for leg, state in answer["legs"].items()}
    assert status == {leg: "failed" if leg == name else "ran" for leg in MODULES}
    assert "a kernel gave up" in caplog.text
    assert "a kernel gave up" not in str(answer)


@pytest.mark.parametrize(("room", "step"), [(vector, "search"), (StaticModel, "embed")])
def test_no_hits_without_a_leg_is_told_apart_from_nothing_found(
    room: Any, step: str, memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories.add("Ana moved to Lisbon in May")
    assert memories.recall("zorblax mubelo", abstain=True)["decision"] == "low_confidence"
    break_step(room, step, monkeypatch)
    answer = memories.recall("zorblax mubelo", abstain=True)
    assert (answer["decision"], answer["hits"]) == ("leg_down", [])
    assert answer["reason"].startswith("without the vector leg: ")


def test_a_second_look_that_fails_is_a_leg_down(
    memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories.add("Ana moved to Lisbon in May", names=["Ana"])
    break_step(rescue, "search", monkeypatch)
    answer = memories.recall("zorblax mubelo", abstain=True)
    assert (answer["decision"], answer["hits"]) == ("leg_down", [])
    assert answer["reason"].startswith("without the graph leg: ")
    assert answer["assessment"]["rescue"]["status"] == "failed"


def test_a_second_pass_that_fails_leaves_the_first(
    memories: Memories, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = memories.add("Ana moved to Lisbon in May", names=["Ana"])
    break_step(expansion, "expand", monkeypatch)
    answer = memories.recall("When did Ana move to Lisbon?", abstain=True)
    assert [hit["id"] for hit in answer["hits"]] == [wanted]
    assert answer["hits"][0]["provenance"]["lexical"]["rank"] == 1
    assert (answer["expansion"]["fired"], "failed" in answer["expansion"]["reason"]) == (
        False,
        True,
    )
    assert "a kernel gave up" in caplog.text


def test_what_the_store_says_is_no_failure_of_a_leg(
    memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged page found by the expansion stops the writes: it must come up."""
    memories.add("Ana moved to Lisbon in May", names=["Ana"])

    def damaged(*args: Any, **options: Any) -> None:
        raise apsw.CorruptError("database disk image is malformed")

    monkeypatch.setattr(expansion, "expand", damaged)
    with pytest.raises(apsw.CorruptError):
        memories.recall("When did Ana move to Lisbon?")
