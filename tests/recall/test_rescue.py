"""The second look before abstaining: what only the graph knows, and what it may not do."""

from typing import Any

import numpy as np

from brain_daemon.recall import graph, rescue
from brain_daemon.recall.fusion import FusedHit
from brain_daemon.recall.graph import GraphRanking
from brain_daemon.recall.ranking import NO_ROWS
from tests.index.stores import ANALYZER, BOB
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


def test_without_words_it_starts_at_the_nearest_passages(memories: Memories) -> None:
    """No text has a word of the question; what the nearest passage is linked to has them all."""
    wanted = memories.add("the physician examined her patient", names=["Lisbon Clinic"])
    for i in range(30):
        memories.add(f"Minutes {i}: the budget", embedding=NOWHERE)
    answer = memories.recall("clinic of Lisbon", abstain=True)
    assert answer["legs"]["lexical"]["candidates"] == 0
    assert (answer["decision"], answer["hits"][0]["id"]) == ("answered", wanted)
    assert answer["assessment"]["rescue"]["status"] == "ran"


def walk(memories: Memories, *passages: int, names: tuple[str, ...] = ()) -> GraphRanking:
    entity_graph = memories.snapshot.graph
    return rescue.search(
        entity_graph,
        entity_graph.lookup(names).tolist(),
        np.array([memories.row(id_) for id_ in passages], np.int32),
        memories.mask(),
        n_documents=memories.snapshot.n_alive,
        depth=100,
        epsilon=1e-4,
    )


def test_the_walk_starts_at_what_the_best_passages_name(memories: Memories) -> None:
    start = memories.add("The harbour master", names=["Harbour"], embedding=NOWHERE)
    linked = memories.add("keeps a ledger", names=["Harbour"], embedding=NOWHERE)
    ranking = walk(memories, start)
    assert set(memories.ids(ranking.rows)) == {start, linked}
    assert len(ranking.entities) == 1


def test_the_walk_starts_at_what_the_query_names_too(memories: Memories) -> None:
    own = memories.add("own", names=["Ana"], embedding=NOWHERE)
    start = memories.add("start", names=["Harbour"], embedding=NOWHERE)
    assert set(memories.ids(walk(memories, start, names=("ana",)).rows)) == {own, start}


def test_the_walk_asks_a_few_passages_for_a_few_names(memories: Memories) -> None:
    memories.add("own", names=["Ana"], embedding=NOWHERE)
    starts = [memories.add(f"{i}", names=[f"Name {i}"], embedding=NOWHERE) for i in range(5)]
    assert len(walk(memories, *starts).entities) == graph.PASSAGE_SEEDS < len(starts)
    crowd = memories.add("crowd", names=[f"Guest {i}" for i in range(40)], embedding=NOWHERE)
    assert len(walk(memories, crowd, names=("ana",)).entities) == 1 + rescue.ENTITY_SEEDS < 40


def test_the_walk_goes_further_than_the_leg(memories: Memories) -> None:
    for i in range(30):
        names = [f"Link {i}", f"Link {i + 1}"]
        memories.add(f"{i}", names=names, embedding=NOWHERE)
    entity_graph = memories.snapshot.graph
    of_leg = graph.search(
        entity_graph,
        entity_graph.lookup(["link 0"]).tolist(),
        NO_ROWS,
        memories.mask(),
        n_documents=memories.snapshot.n_alive,
        depth=100,
        damping=memories.settings["graph_damping"],
        epsilon=1e-4,
    )
    assert len(walk(memories, names=("link 0",)).rows) > 1.5 * len(of_leg.rows)


def test_only_names_that_lead_to_a_hit_count_there(memories: Memories) -> None:
    """Those on its path, and those of the query that it is linked to; not all it is linked to."""
    relations = [("Albert Novak", "owns", "Rowing Boat")]
    memories.add("stated", relations=relations, embedding=NOWHERE)
    hit = memories.add("He mends it", names=["Rowing Boat", "Pier Nine", "Tar"], embedding=NOWHERE)
    ranking = walk(memories, names=("albert novak",))
    entity_graph, rank = memories.snapshot.graph, memories.ids(ranking.rows).index(hit) + 1
    terms = ANALYZER.query("novak rowing pier tar mends").terms
    present = np.array([[False, False, False, False, True]])
    held = rescue.add_names(
        present,
        [FusedHit(memories.row(hit), 0.0, {"graph": rank})],
        ranking,
        entity_graph.lookup(["albert novak", "pier nine"]).tolist(),
        entity_graph,
        memories.mask(),
        terms,
        ANALYZER,
    )
    assert held.tolist() == [[True, True, True, False, True]]
    assert present.tolist() == [[False, False, False, False, True]]
