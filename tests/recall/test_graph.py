from math import log1p, sqrt

import numpy as np
import pytest

from brain_daemon._ext.ppr import neighbors, topk_ppr
from brain_daemon.recall.graph import MAX_LINKED_WORDS, link_entities, search
from brain_daemon.text.stopwords import STOP_WORDS
from tests.index.stores import BOB, chunk, document
from tests.recall.memories import Memories

NOWHERE = np.zeros(256, np.float32)
STOP = STOP_WORDS["english"]


def linked(store: Memories, q: str) -> list[str]:
    graph = store.snapshot.graph
    return [graph.key(i) for i in link_entities(graph, q, store.mask(), STOP)]


def leg(store: Memories, *names: str, passages: tuple[int, ...] = ()) -> list[int]:
    """Chunk ids as the graph leg alone ranks them from entities and lexical passages."""
    graph = store.snapshot.graph
    rows = np.array([store.row(id_) for id_ in passages], np.int32)
    ranking = search(
        graph,
        [i for i in graph.lookup(list(names)).tolist() if i >= 0],
        rows,
        store.mask(),
        n_documents=store.snapshot.n_alive,
        depth=100,
        damping=0.5,
        epsilon=1e-6,
    )
    return store.ids(ranking.rows)


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("When did Ana move to New York?", ["new york", "ana"]),
        ("Is York near Ana's house", ["york", "ana"]),
        ("Is York near Ana’s house", ["york", "ana"]),
        ("what does foo_bar.baz do?", ["foo_bar.baz"]),
        ("C# or C++?", ["c#", "c++"]),
        ("(New York)", ["new york"]),
        ("new   YORK city", ["new york city"]),
        ("a visit to the museum of modern art today", ["museum of modern art"]),
        ("the society of friends of old maps", ["old maps"]),  # six words: no run is so long
        ("the", []),
        ("The Who", ["the who"]),
        ("nobody in particular", []),
        ("?!", []),
    ],
)
def test_the_longest_names_in_a_query_are_linked(
    memories: Memories, q: str, expected: list[str]
) -> None:
    names = ["Ana", "New York", "York", "New York City", "foo_bar.baz", "C#", "C++", "The", "Who"]
    names += ["The Who", "Museum of Modern Art", "Art"]
    names += ["Society of Friends of Old Maps", "Old Maps"]
    memories.add("a text", names=names)
    assert linked(memories, q) == expected


def test_an_entity_without_visible_evidence_is_not_linked(memories: Memories) -> None:
    memories.add("secret text", names=["Zanzibar"], owner="bob")
    memories.add("own text", names=["Ana"])
    assert linked(memories, "Ana in Zanzibar") == ["ana"]
    report = memories.recall("Ana in Zanzibar")["legs"]["graph"]
    assert report["entities"] == ["Ana"]
    assert memories.recall("Zanzibar", BOB)["legs"]["graph"]["entities"] == ["Zanzibar"]


def test_two_hops_reach_a_passage_that_shares_no_word(memories: Memories) -> None:
    memories.add("Ana works at Initech", names=["Ana", "Initech"], embedding=NOWHERE)
    second = memories.add("the firm sits in Lisbon", names=["Initech"], embedding=NOWHERE)
    memories.add("a lone text", names=["Bob"], embedding=NOWHERE)
    answer = memories.recall("Ana")
    assert [hit["id"] for hit in answer["hits"]][1:] == [second]
    path = answer["hits"][1]["provenance"]["graph"]["path"]
    assert path[0] == "query"
    assert path[-2:] == ["Initech", f"chunk {second}"]
    assert second not in memories.found("Ana", graph=False)


def test_relations_lead_from_entity_to_entity(memories: Memories) -> None:
    memories.add("x", relations=[("Ana", "works_at", "Initech")], embedding=NOWHERE)
    wanted = memories.add("y", names=["Initech"], embedding=NOWHERE)
    assert wanted in leg(memories, "ana")


@pytest.mark.parametrize("relation", ["tagged_with", "alias_of"])
def test_taxonomy_relations_weigh_a_tenth(memories: Memories, relation: str) -> None:
    relations = [("Hub", relation, "Aside"), ("Hub", "leads_to", "Main")]
    stated = memories.add("x", relations=relations, embedding=NOWHERE)
    aside = memories.add("y", names=["Aside"], embedding=NOWHERE)
    main = memories.add("z", names=["Main"], embedding=NOWHERE)
    assert leg(memories, "hub") == [stated, main, aside]
    graph = memories.snapshot.graph
    hub, *ends = (2 * graph.lookup(["hub", "aside", "main"]) + 1).tolist()
    nodes, weights, _ = neighbors(graph.graph, hub, memories.mask())
    weight = dict(zip(nodes.tolist(), weights.tolist(), strict=True))
    assert [weight[end] for end in ends] == pytest.approx([0.1, 1.0])


def test_edges_die_with_their_evidence(memories: Memories) -> None:
    stated = memories.add("x", relations=[("Ana", "works_at", "Initech")], embedding=NOWHERE)
    near = memories.add("y", names=["Ana"], embedding=NOWHERE)
    far = memories.add("z", names=["Initech"], embedding=NOWHERE)
    assert set(leg(memories, "ana")) == {stated, near, far}
    memories.forget(stated)
    assert leg(memories, "ana") == [near]
    memories.snapshot = memories.loaded()
    assert leg(memories, "ana") == [near]
    memories.add("w", relations=[("Ana", "works_at", "Initech")], embedding=NOWHERE)
    assert far in leg(memories, "ana")


def test_the_next_turn_of_a_thread_is_a_neighbour(memories: Memories) -> None:
    turns = [memories.add(f"turn {i}", thread="t", seq=i, embedding=NOWHERE) for i in range(5)]
    memories.add("elsewhere", embedding=NOWHERE)
    assert leg(memories, passages=(turns[2],)) == [turns[2], turns[1], turns[3], turns[0], turns[4]]


def test_the_next_turn_counts_more_than_two_shared_names_and_less_than_four(
    memories: Memories,
) -> None:
    for n, next_first in ((2, True), (4, False)):
        names = [f"Name {n}.{i}" for i in range(n)]
        tags = {"thread": f"thread {n}", "embedding": NOWHERE}
        start = memories.add(f"start {n}", names=names, seq=0, **tags)
        following = memories.add(f"next {n}", seq=1, **tags)
        sharing = memories.add(f"sharing {n}", names=names, embedding=NOWHERE)
        others = [following, sharing] if next_first else [sharing, following]
        assert leg(memories, passages=(start,)) == [start, *others]


def test_damping_hubs_changes_a_ranking(memories: Memories) -> None:
    """Four hubs lead to one passage, one rare entity to another; only the factors tell more."""
    hubs = ["Hub 1", "Hub 2", "Hub 3", "Hub 4"]
    start = memories.add("start", names=[*hubs, "Rare"], embedding=NOWHERE)
    by_hubs = [memories.add(f"hub {i}", names=hubs, embedding=NOWHERE) for i in range(5)]
    by_rare = memories.add("rare", names=["Rare"], embedding=NOWHERE)

    graph = memories.snapshot.graph
    rankings = []
    for factors in (np.ones_like(graph.factors), graph.factors):
        seeds = np.array([2 * memories.row(start)], np.int32)
        rows, *_ = topk_ppr(
            graph.graph, seeds, np.ones(1), factors, memories.mask(), 0.5, 1e-7, 100, 10_000
        )
        rankings.append(memories.ids(rows))
    undamped, damped = rankings
    assert undamped == [start, *by_hubs, by_rare]
    assert damped == [start, by_rare, *by_hubs]
    assert leg(memories, passages=(start,)) == damped


def test_seeds_weigh_by_rarity_and_by_rank(memories: Memories) -> None:
    """An entity by what it tells and by how many passages share it, a passage by its rank."""
    best = memories.add("the best", embedding=NOWHERE)
    second = memories.add("the second", embedding=NOWHERE)
    both = memories.add("both", names=["Rare", "Hub"], embedding=NOWHERE)
    hubs = [memories.add(f"hub {i}", names=["Hub"], embedding=NOWHERE) for i in range(8)]
    store, graph = memories.snapshot, memories.snapshot.graph
    nodes = [2 * int(i) + 1 for i in graph.lookup(["rare", "hub"])]
    nodes += [2 * memories.row(id_) for id_ in (best, second)]
    n = store.n_alive
    weights = [log1p(n / 1) / sqrt(1), log1p(n / 9) / sqrt(9), 1.0, 0.5]
    options = {"damping": 0.5, "epsilon": 1e-6, "k": 100}
    expected = topk_ppr(
        graph.graph,
        np.array(nodes, np.int32),
        np.array(weights),
        graph.factors,
        memories.mask(),
        **options,
    )
    names = [(node - 1) // 2 for node in nodes[:2]]
    rows = np.array([memories.row(best), memories.row(second)], np.int32)
    found = search(
        graph, names, rows, memories.mask(), n_documents=n, depth=100, damping=0.5, epsilon=1e-6
    )
    assert found.rows.tolist() == expected[0].tolist()
    assert found.scores.tolist() == expected[1].tolist()
    listed = memories.ids(found.rows)
    assert listed[:3] == [both, best, second]
    assert set(listed[3:]) == set(hubs)


def test_without_words_the_best_vector_passages_are_seeds(memories: Memories) -> None:
    memories.add("the physician examined her patient", names=["Clinic"])
    beyond = memories.add("opening hours", names=["Clinic"], embedding=NOWHERE)
    answer = memories.recall("doctor")
    assert answer["legs"]["lexical"]["candidates"] == 0
    assert beyond in [hit["id"] for hit in answer["hits"]]


def test_the_three_best_passages_are_seeds(memories: Memories) -> None:
    names = ["Ana", "Ben", "Carla", "Dmitri"]
    seeds = [memories.add(f"a text {name}", names=[name]) for name in names]
    others = [memories.add(f"another text {name}", names=[name]) for name in names]
    assert set(leg(memories, passages=tuple(seeds))) == {*seeds[:3], *others[:3]}


def test_a_walk_ends_after_so_many_steps(
    memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories.add("Ana works at Initech", names=["Ana", "Initech"])
    beyond = memories.add("the firm sits in Lisbon", names=["Initech"])
    assert beyond in leg(memories, "ana")
    monkeypatch.setattr("brain_daemon.recall.graph.MAX_PUSHES", 2)
    assert beyond not in leg(memories, "ana")


def test_no_more_than_so_many_words_are_looked_up_as_names(memories: Memories) -> None:
    memories.add("text", names=["Ana"])
    words = "word " * MAX_LINKED_WORDS
    assert linked(memories, f"{words[:-5]}Ana") == ["ana"]
    assert linked(memories, f"{words}Ana") == []


def test_ten_thousand_chunks_with_one_tag(memories: Memories) -> None:
    tagged = [chunk(f"t{i}", names=["Everywhere"], embedding=NOWHERE, dim=256) for i in range(2500)]
    for i in range(4):
        memories.put(document(*tagged, uri=f"u{i}"))
    wanted = memories.add("about Ana", names=["Everywhere", "Ana"], embedding=NOWHERE)
    friend = memories.add("by a friend", names=["Ana"], embedding=NOWHERE)
    answer = memories.recall("Ana Everywhere")
    assert [hit["id"] for hit in answer["hits"]][:2] == [wanted, friend]
    assert answer["legs"]["graph"]["entities"] == ["Ana", "Everywhere"]


def test_without_seeds_the_leg_says_so(memories: Memories) -> None:
    memories.add("text", names=["Ana"], embedding=NOWHERE)
    report = memories.recall("unrelated words")["legs"]["graph"]
    assert report["status"] == "skipped"
    assert report["reason"].startswith("no seeds")


def test_switched_off_by_request_and_by_configuration(memories: Memories) -> None:
    memories.add("text about Ana", names=["Ana"])
    by_request = memories.recall("Ana", graph=False)["legs"]["graph"]
    assert by_request == {"status": "skipped", "reason": "disabled by request"}
    memories.settings["recall_graph_enabled"] = False
    by_settings = memories.recall("Ana")["legs"]["graph"]
    assert by_settings == {"status": "skipped", "reason": "disabled by configuration"}


def test_paths_are_made_of_visible_evidence(memories: Memories) -> None:
    memories.add("x", relations=[("Ana", "knows", "Zoe")], owner="bob", embedding=NOWHERE)
    memories.add("own", names=["Ana"], embedding=NOWHERE)
    memories.add("own too", names=["Zoe"], embedding=NOWHERE)
    assert len(leg(memories, "ana")) == 1
