"""The second lexical pass: when it fires, whose words it takes, and what it tells."""

from math import log
from typing import Any

import numpy as np
import pytest

from brain_daemon.recall import expansion
from brain_daemon.recall.query import QueryDoc
from brain_daemon.recall.tuning import TUNED
from tests.index.stores import ALICE, ANALYZER, BOB
from tests.recall.memories import Memories

Q = "kestrel"


@pytest.fixture
def filled(memories: Memories) -> Memories:
    """Forty texts that share no word, one that answers, one that only its words lead to."""
    for i in range(40):
        memories.add(f"alpha{i} beta{i} gamma{i} delta{i}", embedding=-memories.model.embed(Q))
    memories.add("The kestrel of the tower wants falconry gloves", uri="answer")
    memories.add("Falconry gloves are of leather", uri="beyond", embedding=-memories.model.embed(Q))
    return memories


def recall(memories: Memories, q: str, *principal: Any, **params: Any) -> dict[str, Any]:
    """Recall that answers in any case."""
    if "abstain" in QueryDoc.__struct_fields__:
        params["abstain"] = False
    return memories.recall(q, *principal, **params)


def uris(answer: dict[str, Any]) -> list[str]:
    return [hit["uri"] for hit in answer["hits"]]


def test_it_fires_and_finds_what_shares_the_words_of_the_best(filled: Memories) -> None:
    answer = recall(filled, Q)
    told = answer["expansion"]
    assert told["fired"]
    assert told["reason"] == "the best hit is #1 of the vector list and #1 of the lexical one"
    assert [term["term"] for term in told["terms"]] == ["falconri", "glove"]
    assert told["feedback"] == [answer["hits"][0]["id"]]
    assert uris(answer) == ["answer", "beyond"]
    best, beyond = (hit["provenance"] for hit in answer["hits"])
    assert best["expansion"] == {
        "rank": 1,
        "bm25": pytest.approx(best["lexical"]["bm25"] / 4, rel=0.5),
        "terms": ["falconri", "glove"],
    }
    assert beyond["expansion"] == {"rank": None, "bm25": None, "terms": ["falconri", "glove"]}
    assert beyond["lexical"]["rank"] == 2
    assert beyond["lexical"]["terms"] == []
    for provenance in (best, beyond):
        ranks = [
            provenance[leg]["rank"] for leg in ("vector", "lexical", "graph") if provenance[leg]
        ]
        assert provenance["fused"] == sum(1 / (60 + rank) for rank in ranks)


def test_without_it_the_first_pass_stands(filled: Memories) -> None:
    answer = recall(filled, Q, expand=False)
    assert answer["expansion"] == {
        "fired": False,
        "reason": "disabled by request",
        "terms": [],
        "feedback": [],
    }
    assert uris(answer) == ["answer"]
    assert answer["hits"][0]["provenance"]["expansion"] is None
    assert answer["legs"]["lexical"]["candidates"] == 1


def test_terms_are_weighed_by_share_and_idf(filled: Memories) -> None:
    filled.add("More gloves", embedding=-filled.model.embed(Q))
    answer = recall(filled, Q)
    score = answer["hits"][0]["score"]
    n_terms = len(ANALYZER.index("", "The kestrel of the tower wants falconry gloves").body.split())
    first = recall(filled, Q, expand=False)["hits"][0]["score"]
    assert score == first
    assert answer["expansion"]["terms"] == [
        {"term": "falconri", "weight": pytest.approx(first / n_terms * log(43 / 2))},
        {"term": "glove", "weight": pytest.approx(first / n_terms * log(43 / 3))},
    ]


def test_the_gate_is_shut_where_the_vector_leg_does_not_have_the_best(filled: Memories) -> None:
    nowhere = np.zeros(filled.model.dim, np.float32)
    filled.add("osprey harbour gloves", embedding=nowhere, names=["Osprey Harbour"])
    told = recall(filled, "osprey harbour")["expansion"]
    assert not told["fired"]
    assert "vector list" in told["reason"]


@pytest.mark.parametrize("n_nearer", [2, 3])
def test_the_gate_is_a_rank_by_the_cosine_of_the_question_as_asked(
    filled: Memories, n_nearer: int
) -> None:
    for i in range(n_nearer):
        filled.add(f"nothing alike {i}", embedding=filled.model.embed(Q))
    answer = recall(filled, Q)
    assert answer["hits"][0]["uri"] == "answer"
    assert answer["expansion"]["fired"] is (n_nearer == 2)
    if not answer["expansion"]["fired"]:
        assert answer["expansion"]["reason"] == "the best hit is only #4 of the vector list"


def test_the_gate_needs_the_lexical_list(filled: Memories) -> None:
    told = recall(filled, "zzqxv")["expansion"]
    assert not told["fired"]
    assert told["reason"] in ("nothing was found", "the best hit is not in the lexical list")


def test_nothing_to_add_is_told(memories: Memories) -> None:
    memories.add("The kestrel of the tower")
    told = recall(memories, Q)["expansion"]
    assert told["reason"] == "the best hits have no word beside the query's that others have"


def test_an_empty_store_has_no_second_pass(memories: Memories) -> None:
    assert recall(memories, Q)["expansion"]["reason"] == "nothing was found"


def test_words_come_from_visible_rows_only(filled: Memories) -> None:
    """Bob's text is the best of all for the question; only Bob may learn of its words."""
    same = filled.model.embed(Q)
    for uri in ("secret", "other"):
        filled.add("kestrel kestrel xylotheque", owner="bob", uri=uri, embedding=same)
    for i in range(40):
        filled.add(f"epsilon{i} zeta{i}", owner="bob", embedding=-same)
    mine = recall(filled, Q, ALICE)["expansion"]
    assert mine["fired"]
    assert "xylothequ" not in [term["term"] for term in mine["terms"]]
    theirs = recall(filled, Q, BOB)["expansion"]
    assert [term["term"] for term in theirs["terms"]] == ["xylothequ"]


def test_words_come_only_from_hits_of_both_lists(filled: Memories) -> None:
    """What is merely near may be about anything: its words would lead astray."""
    for uri in ("near", "nearer"):
        filled.add("gyrfalcon hoods", uri=uri, embedding=filled.model.embed(Q))
    told = recall(filled, Q)["expansion"]
    assert [term["term"] for term in told["terms"]] == ["falconri", "glove"]
    assert len(told["feedback"]) == 1


def test_an_exclusion_holds_in_the_second_pass(filled: Memories) -> None:
    assert uris(recall(filled, f"{Q} -leather")) == ["answer"]
    assert recall(filled, f"{Q} -leather")["expansion"]["fired"]


def test_words_that_are_everywhere_or_nowhere_else_are_not_added(filled: Memories) -> None:
    for i in range(8):
        filled.add(f"gloves of kind{i}", embedding=-filled.model.embed(Q))
    terms = [t["term"] for t in recall(filled, Q)["expansion"]["terms"]]
    assert terms == ["falconri"]  # "want" stands in one chunk, "glove" in ten of fifty


@pytest.mark.parametrize(
    ("words", "added"),
    [("hood jess bell lure perch block swivel", "bell block hood jess lure"), ("hood x", "hood")],
)
def test_few_words_are_added_equals_by_the_alphabet_and_none_of_a_single_letter(
    filled: Memories, words: str, added: str
) -> None:
    for uri in ("best", "second"):
        text = f"kestrel kestrel kestrel {words}"
        filled.add(text, uri=uri, embedding=filled.model.embed(Q))
    terms = [t["term"] for t in recall(filled, Q)["expansion"]["terms"]]
    assert terms == added.split()


def test_words_are_those_of_the_two_best_hits(filled: Memories) -> None:
    for word in ("hood", "jess", "lure"):
        for n in range(2):
            filled.add(f"Leather {word} {n}", embedding=-filled.model.embed(Q))
    for i, word in enumerate(("hood", "jess", "lure")):
        text = f"{'kestrel ' * (4 - i)}{word} osprey{i}"
        filled.add(text, uri=word, embedding=filled.model.embed(Q))
    answer = recall(filled, Q, graph=False)
    assert uris(answer)[:2] == ["hood", "jess"]
    assert answer["expansion"]["feedback"] == [hit["id"] for hit in answer["hits"][:2]]
    assert {term["term"] for term in answer["expansion"]["terms"]} == {"hood", "jess"}


def test_a_word_of_the_question_outweighs_those_that_are_added(filled: Memories) -> None:
    """Two chunks of the same length: one holds the question's word, one the two added ones."""
    asked = filled.add("kestrel by day", uri="asked", embedding=-filled.model.embed(Q))
    answer = recall(filled, Q, k=10, graph=False)
    assert answer["expansion"]["fired"]
    ranks = {hit["id"]: hit["provenance"]["lexical"] for hit in answer["hits"]}
    beyond = next(hit["id"] for hit in answer["hits"] if hit["uri"] == "beyond")
    assert ranks[asked]["rank"] < ranks[beyond]["rank"]


def test_the_tuning_switches_it_off() -> None:
    assert TUNED.expansion_passages == expansion.PASSAGES > 0
