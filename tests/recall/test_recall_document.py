"""docs/recall.md: every field and decision has an example, and every example finds what it says."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from brain_daemon.client import Client
from brain_daemon.recall.query import QueryDoc
from tests.daemon_process import ROOT, Daemon

TEXT = (ROOT / "docs" / "recall.md").read_text()
MEMORIES = [json.loads(line) for line in re.findall(r"^\{.*\}$", TEXT, re.M)]
FIELDS = re.findall(r"^\| `(\w+)` \| `{1,2}(\{.*\})`{1,2} \| (.*?) \| (.*?) ?\|$", TEXT, re.M)
DECISIONS = re.findall(r"^\| `(\w+)` \| `(\{.*\})`(.*) \|$", TEXT.split("## Decisions")[1], re.M)
# What shows that a field did its work where the hits do not.
EFFECTS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "provenance": lambda answer: "provenance" not in answer["hits"][0],
    "trace": lambda answer: bool(answer["trace_id"]),
    "render": lambda answer: "> Ana moved to Lisbon" in answer["render"]["text"],
    "max_context_tokens": lambda answer: 0 < answer["render"]["tokens"] <= 200,
    "graph": lambda answer: answer["legs"]["graph"]["reason"] == "disabled by request",
    "expand": lambda answer: answer["expansion"]["reason"] == "disabled by request",
    "min_relevance": lambda answer: {hit["relevance"] for hit in answer["hits"]} == {"high"},
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    daemon = Daemon(tmp_path_factory.mktemp("examples")).start()
    with daemon.client() as client:
        for memory in MEMORIES:
            client.remember(**memory)
        yield client
    assert daemon.stop() == 0


def test_every_field_has_an_example() -> None:
    assert {field for field, *_ in FIELDS} == {
        field.encode_name for field in msgspec.structs.fields(QueryDoc)
    }


@pytest.mark.parametrize(("field", "request_", "first", "absent"), FIELDS)
def test_an_example_finds_what_it_says(
    filled: Client, field: str, request_: str, first: str, absent: str
) -> None:
    params: dict[str, Any] = json.loads(request_)
    assert field in params
    answer = filled.recall(**params)
    found = [hit["uri"] for hit in answer["hits"]]
    assert found[: len(first.split())] == first.split() != []
    assert set(found).isdisjoint(absent.split())
    assert EFFECTS.get(field, bool)(answer)


@pytest.mark.parametrize(("decision", "request_", "where"), DECISIONS)
def test_a_decision_is_what_the_example_gives(
    filled: Client, client: Client, decision: str, request_: str, where: str
) -> None:
    asked = client if where else filled
    answer = asked.recall(**json.loads(request_))
    assert answer["decision"] == decision
    assert bool(answer["hits"]) == (decision == "answered") == ("reason" not in answer)
