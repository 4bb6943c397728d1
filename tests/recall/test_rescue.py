"""The second look before abstaining: what only the graph knows, and what it may not do."""

from typing import Any

import numpy as np

from brain_daemon.recall import rescue
from tests.index.stores import BOB
from tests.recall.memories import Memories

NOWHERE = np.zeros(256, np.float32)
QUESTION = "What does Albert Novak keep beside Pier Nine?"


def unnamed(memories: Memories, **options: Any) -> int:
    """A memory about somebody whom its words do not name, among others."""
    for i in range(60):
        memories.add(f"Minutes of meeting {i}: the budget was discussed at length.")
    return memories.add(
        "He has a green rowing boat there.",
        names=["Albert Novak", "Pier Nine"],
        **options,
    )


def test_what_only_the_graph_knows_is_found(memories: Memories) -> None:
    wanted = unnamed(memories)
    answer = memories.recall(QUESTION, abstain=True)
    assert answer["decision"] == "answered"
    assert answer["hits"][0]["id"] == wanted
    assert answer["assessment"]["rescue"]["status"] == "ran"
    assert answer["assessment"]["rescue"]["confidence"] == answer["assessment"]["confidence"]
    first = memories.recall(QUESTION)["assessment"]
    assert first["confidence"] < first["threshold"] <= answer["assessment"]["confidence"]


def test_the_names_on_the_way_are_no_words_of_the_text(memories: Memories) -> None:
    unnamed(memories)
    hit = memories.recall(QUESTION, abstain=True)["hits"][0]
    lexical = hit["provenance"]["lexical"]
    assert lexical is None or not {"albert", "novak"} & set(lexical["terms"])
    assert "Albert Novak" in hit["provenance"]["graph"]["path"]
    legs = [hit["provenance"][leg] for leg in ("vector", "lexical", "graph")]
    assert hit["score"] == sum(1 / (60 + leg["rank"]) for leg in legs if leg)


def test_without_the_graph_there_is_no_second_look(memories: Memories) -> None:
    unnamed(memories)
    answer = memories.recall(QUESTION, abstain=True, graph=False)
    assert (answer["decision"], answer["hits"]) == ("low_confidence", [])
    assert answer["assessment"]["rescue"] == {
        "status": "skipped",
        "reason": "disabled by request",
    }


def test_what_the_second_look_brings_must_pass_too(memories: Memories) -> None:
    unnamed(memories)
    q = "Which zorblax did Pier Nine quintavate in Helsinki?"
    answer = memories.recall(q, abstain=True)
    assert (answer["decision"], answer["hits"]) == ("low_confidence", [])
    look = answer["assessment"]["rescue"]
    assert (look["status"], look["confidence"] < answer["assessment"]["threshold"]) == ("ran", True)
    first = memories.recall(q)
    assert answer["assessment"]["signals"] == first["assessment"]["signals"]
    assert answer["assessment"]["confidence"] == first["assessment"]["confidence"]
    assert look["confidence"] > first["assessment"]["confidence"]


def test_nobody_is_rescued_by_anothers_secret(memories: Memories) -> None:
    for i in range(60):
        memories.add(f"Minutes of meeting {i}: the budget was discussed.", owner="bob")
    secret = unnamed(memories)
    memories.add("Albert Novak came to lunch.", names=["Albert Novak"], owner="bob")
    answer = memories.recall(QUESTION, BOB, abstain=True, k=100)
    assert secret not in [hit["id"] for hit in answer["hits"]]
    assert "Pier Nine" not in str(answer)


def test_a_sure_answer_needs_no_second_look(memories: Memories) -> None:
    memories.add("The spare key is with Marta.")
    look = memories.recall("Who has the spare key?", abstain=True)["assessment"]["rescue"]
    assert look == {"status": "skipped", "reason": "not needed"}


def test_the_walk_starts_at_what_the_best_passages_name(memories: Memories) -> None:
    start = memories.add("The harbour master", names=["Harbour"], embedding=NOWHERE)
    linked = memories.add("keeps a ledger", names=["Harbour"], embedding=NOWHERE)
    ranking = rescue.search(
        memories.snapshot.graph,
        [],
        np.array([memories.row(start)], np.int32),
        memories.mask(),
        n_documents=2,
        depth=10,
        epsilon=1e-4,
    )
    assert set(memories.ids(ranking.rows)) == {start, linked}
    assert len(ranking.entities) == 1
