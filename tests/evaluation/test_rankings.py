"""Rows: the real legs, the real fusion, subsets of it, and what an ablation changes."""

import pytest

from brain_daemon.evaluation.collection import Collection, Document, Query
from brain_daemon.evaluation.loaded import LoadedCollection, loaded
from brain_daemon.evaluation.rankings import FULL, ROWS, rank
from brain_daemon.recall.fusion import RRF_K
from brain_daemon.service.dispatch import Dispatcher

QUESTIONS = [
    "What does the blue whale eat?",
    "The blue whale eats krill in cold water and sea",
    "Krill and Lisbon and light",
    "Naxos ferry at noon",
    'the "moved to Lisbon" of -June',
]


def answer(engine: LoadedCollection, q: str, k: int = 100) -> list[dict]:
    dispatcher = Dispatcher(engine.memory)
    params = {"q": q, "k": k, "abstain": False}
    result = dispatcher("recall", params, engine.principal, False)
    dispatcher.close()
    return result["hits"]


def documents_of(engine: LoadedCollection, hits: list[dict]) -> list[str]:
    return list(dict.fromkeys(engine.documents[hit["id"]][0] for hit in hits))


@pytest.mark.parametrize("q", QUESTIONS)
def test_the_full_fusion_is_what_recall_answers(engine: LoadedCollection, q: str) -> None:
    ranking = rank(engine, Query("q", q, None), 100)[FULL.name]
    assert ranking
    assert ranking == documents_of(engine, answer(engine, q))


@pytest.mark.parametrize("q", QUESTIONS)
@pytest.mark.parametrize("row", [row for row in ROWS[:10] if row.tuning == FULL.tuning])
def test_a_subset_is_the_sum_of_its_legs_ranks(engine: LoadedCollection, q: str, row) -> None:
    scores: dict[int, float] = {}
    for hit in answer(engine, q):
        of_legs = [hit["provenance"][leg] for leg in row.legs]
        score = sum(1.0 / (RRF_K + leg["rank"]) for leg in of_legs if leg is not None)
        if score:
            scores[hit["id"]] = score
    order = sorted(scores, key=lambda id_: (-scores[id_], id_))
    expected = list(dict.fromkeys(engine.documents[id_][0] for id_ in order))
    assert rank(engine, Query("q", q, None), 100)[row.name] == expected


def test_a_document_of_many_chunks_stands_once_where_its_first_stands(
    engine: LoadedCollection,
) -> None:
    ranking = rank(engine, Query("q", "moons and tides in the almanac", None), 100)["lexical"]
    assert ranking == ["almanac"]


def test_copies_of_a_text_stand_where_the_best_does_as_in_an_answer() -> None:
    twin = "The ferry to Naxos leaves Piraeus at noon."
    memories = [
        Document("titled", {"text": twin, "title": "Ferry Naxos noon"}),
        Document("other", {"text": "A ferry to Naxos at noon", "title": "Ferry"}),
        Document("bare", {"text": twin}),
        Document("elsewhere", {"text": twin, "node_kind": "fact"}),
    ]
    with loaded(memories) as engine:
        q = "Naxos ferry noon"
        hits = answer(engine, q)
        joined = [engine.documents[source["id"]][0] for hit in hits for source in hit["sources"]]
        for row in (FULL, ROWS[1]):
            found = rank(engine, Query("q", q, None), 100)[row.name]
            assert sorted(found) == ["bare", "elsewhere", "other", "titled"]
            assert abs(found.index("titled") - found.index("bare")) == 1
        assert rank(engine, Query("q", q, None), 100)[FULL.name] == joined
        assert engine.copies[hits[0]["id"]] in engine.documents


@pytest.mark.parametrize("q", ["???", "成语 🎉", "\udcff", "x" * 5000, '"', "-a"])
def test_any_question_is_ranked_or_finds_nothing(engine: LoadedCollection, q: str) -> None:
    rankings = rank(engine, Query("q", q, None), 100)
    assert set(rankings) == {row.name for row in ROWS}


def test_a_restricted_question_finds_nothing_of_others(
    engine: LoadedCollection, collection: Collection
) -> None:
    (query,) = [query for query in collection.queries if query.domain == "a"]
    for name, ranking in rank(engine, query, 100).items():
        assert set(ranking) <= {"a/1", "a/2"}, name
    assert rank(engine, query, 100)[FULL.name][0] == "a/1"


def test_each_ablation_changes_a_ranking(engine: LoadedCollection) -> None:
    # A word must be rare among many for the second lexical pass to take it up; what it lifts
    # overtakes what the graph has lifted.
    memories: list[dict] = [{"text": f"alpha{i} beta{i} gamma{i}"} for i in range(40)]
    memories += [
        {"text": "The kestrel wants falconry gloves", "entities": ["kestrel"]},
        {"text": "Falconry gloves of leather"},
        {"text": "Birds of prey: hawk, falcon, bird", "entities": ["kestrel"]},
    ]
    with loaded([Document(str(i), params) for i, params in enumerate(memories)]) as larger:
        asked = [(engine, q) for q in QUESTIONS] + [(larger, "kestrel")]
        changed = set()
        for of, q in asked:
            found = rank(of, Query("q", q, None), 100)
            changed |= {row.name for row in ROWS if found[row.name] != found[_tuned_twin(row)]}
    assert changed == {row.name for row in ROWS if row.tuning != FULL.tuning}


def _tuned_twin(row) -> str:
    (twin,) = [r.name for r in ROWS if r.legs == row.legs and r.tuning == FULL.tuning]
    return twin


def test_a_ranking_is_cut_at_k(engine: LoadedCollection) -> None:
    cut = rank(engine, Query("q", QUESTIONS[0], None), 2)
    whole = rank(engine, Query("q", QUESTIONS[0], None), 100)
    assert cut == {name: ranking[:2] for name, ranking in whole.items()}
