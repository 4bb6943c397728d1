"""Confidence, abstention and relevance: what is measured and decided, and never refused."""

import re
from math import log1p
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from brain_daemon.recall import confidence, graph, pipeline
from brain_daemon.recall.confidence import Assessment, Evidence, Question, Signals
from brain_daemon.recall.query import decode_query
from tests.daemon_process import ROOT
from tests.index.stores import ALICE, ANALYZER, NOW_US
from tests.recall.memories import Memories

NOWHERE = np.zeros(256, np.float32)
WORLD = {
    "lisbon": "Ana moved to Lisbon in May and shares a flat with Rui near the river.",
    "key": "The spare key to the workshop is with Marta, who lives across the street.",
    "boiler": "Marta repaired the boiler in January; the invoice came to 240 euros.",
    "boat": "Rui sold his boat to a neighbour because the mooring became too expensive.",
    "ticket": "Ticket ZX-81-QQ: the printer on the third floor was replaced.",
    "garden": "The tomatoes in the garden need water every evening in July.",
    "parser": "The parser reads numerals with grammar::fa before anything else.",
    "dentist": "The dentist put off the appointment to Thursday at nine.",
}


@pytest.fixture
def world(memories: Memories) -> Memories:
    for uri, text in WORLD.items():
        memories.add(text, uri=uri)
    return memories


def ask(memories: Memories, q: str, **params: Any) -> dict[str, Any]:
    return memories.recall(q, abstain=True, **params)


@pytest.mark.parametrize(
    ("q", "first"),
    [
        ("Where did Ana move to?", "lisbon"),
        ("Who has the spare key to the workshop?", "key"),
        ("who has the spare key to the workshop", "key"),
        ("What did Marta repair?", "boiler"),
        ("Why did Rui sell his boat?", "boat"),
        ("When do the tomatoes need water?", "garden"),
        ("ZX-81-QQ", "ticket"),
        ("what became of ticket ZX-81-QQ?", "ticket"),
        ("grammar::fa", "parser"),
        ("mooring", "boat"),
        ("dentist appointment", "dentist"),
    ],
)
def test_what_the_store_knows_is_answered(world: Memories, q: str, first: str) -> None:
    answer = ask(world, q)
    assert answer["decision"] == "answered"
    assert answer["hits"][0]["uri"] == first
    assert answer["assessment"]["confidence"] >= answer["assessment"]["threshold"]


@pytest.mark.parametrize(
    "q",
    [
        "PHRASE_zzqx_QQQQ",
        "zorblax quintavian mubelo",
        "Where is my fadorex?",
        "When did Bartholomew join the choir in Helsinki?",
        "What did Priya cook for Gustav's birthday?",
        "does the boundary layer on a flat plate induce a pressure gradient",
    ],
)
def test_foreign_questions_and_nonsense_are_not_answered(world: Memories, q: str) -> None:
    answer = ask(world, q)
    assert (answer["decision"], answer["hits"]) == ("low_confidence", [])
    assert "abstain=false" in answer["reason"]
    assessment = answer["assessment"]
    assert assessment["confidence"] < assessment["threshold"] == confidence.THRESHOLD
    without = world.recall(q)
    assert without["decision"] == "answered"
    assert without["hits"]
    assert without["assessment"]["confidence"] == assessment["confidence"]


@pytest.mark.parametrize(
    ("text", "q"),
    [
        ("The gate code is 4711.", "What is the gate code?"),
        ("Ana moved to Lisbon in May.", "When did Ana move to Lisbon?"),
        ("The spare key is with Marta.", "who has the spare key"),
        ("他喜欢成语接龙", "成语"),
        ("The retirement party was 🎉 all evening", "🎉"),
        ("Die Straße vor dem Lager ist gesperrt", "STRASSE"),
    ],
)
def test_a_store_of_one_memory_answers_about_it(memories: Memories, text: str, q: str) -> None:
    memories.add(text)
    assert ask(memories, q)["decision"] == "answered"


def test_a_hit_with_every_word_is_never_refused(memories: Memories) -> None:
    for i in range(400):
        memories.add(f"report number {i} about nothing in particular")
    wanted = memories.add("kumquat marmalade", embedding=NOWHERE)
    answer = ask(memories, "marmalade kumquat", graph=False)
    assert wanted in [hit["id"] for hit in answer["hits"]]
    assert answer["assessment"]["signals"]["coverage"] == 1.0
    assert answer["decision"] == "answered"


def test_confidence_does_not_depend_on_what_is_shown(world: Memories) -> None:
    answers = [world.recall("Where did Ana move to?", k=k) for k in (1, 5, 100)]
    assert len({answer["assessment"]["confidence"] for answer in answers}) == 1
    assert ask(world, "PHRASE_zzqx_QQQQ", k=1)["decision"] == "low_confidence"


def test_confidence_is_not_the_fused_score(world: Memories) -> None:
    known, unknown = world.recall("Where did Ana move to?"), world.recall("PHRASE_zzqx_QQQQ where")
    assert known["assessment"]["confidence"] > 0.9 > unknown["assessment"]["confidence"]
    for answer in (known, unknown):  # the fused scores stay where rank fusion puts them
        assert 0 < answer["hits"][0]["score"] < 0.05


def test_a_hit_has_a_relevance_of_its_own(world: Memories) -> None:
    hits = world.recall("Who has the spare key to the workshop?", k=8)["hits"]
    assert hits[0]["relevance"] == "high"
    assert hits[-1]["relevance"] == "low"
    for hit in hits:
        assert confidence.relevance(hit["provenance"]["confidence"]) == hit["relevance"]
    assert "relevance" in world.recall("spare key", provenance=False)["hits"][0]


def test_tiers_are_cut_where_they_say() -> None:
    tiers = [confidence.relevance(x) for x in (0.0, confidence.THRESHOLD, confidence.HIGH)]
    assert tiers == ["low", "medium", "high"]
    below = [confidence.relevance(x - 1e-9) for x in (confidence.THRESHOLD, confidence.HIGH)]
    assert below == ["low", "medium"]


def test_min_relevance_filters_before_the_cut_to_k(world: Memories) -> None:
    q = "Who has the spare key to the workshop?"
    everything = world.recall(q, k=8)["hits"]
    for tier in ("low", "medium", "high"):
        wanted = [h["id"] for h in everything if h["relevance"] in confidence.at_least(tier)]
        assert world.found(q, min_relevance=tier, k=8) == wanted
        assert world.found(q, min_relevance=tier, k=1) == wanted[:1]
    asked = question([1], ((0,),), n_known=1)
    low_first = Evidence.of(asked, [-1.0, 1.0], np.array([[False], [True]]), [0.0, 9.0])
    assert Assessment.of(asked, low_first).at_least("high") == [1]
    assert Assessment.of(asked, low_first).at_least(None) == [0, 1]


def test_min_relevance_looks_at_all_that_the_legs_list(world: Memories) -> None:
    def n_judged(**params: Any) -> int:
        query = decode_query({"q": "Marta Rui Ana boat printer tomatoes dentist", **params})
        visible = world.snapshot.visible(ALICE, query.filters(), NOW_US)
        parts = (ANALYZER, world.model, world.settings)
        legs = pipeline.search(query, world.snapshot, visible, *parts)
        fused = pipeline.fuse(query, legs)
        judged = pipeline.judge(query, legs, fused, visible, world.snapshot, ANALYZER)
        assert judged is not None
        return len(judged.fused)

    assert n_judged(k=1) < n_judged(k=1, min_relevance="low")


def test_min_relevance_that_leaves_nothing_says_so(world: Memories) -> None:
    answer = world.recall("zorblax quintavian mubelo", min_relevance="high")
    assert (answer["decision"], answer["hits"]) == ("filtered_out", [])
    assert "'high'" in answer["reason"]


@pytest.mark.parametrize("name", Signals._fields)
def test_every_signal_moves_the_estimate(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    signals = Signals(0.4, 0.5, 0.2, 8.0, 0.5, 0.5, 0.5, 5.0)
    with_it = confidence.confidence(signals)
    sign = 1 if getattr(confidence.COEFFICIENTS, name) > 0 else -1
    more = signals._replace(**{name: getattr(signals, name) + 0.1})
    assert sign * (confidence.confidence(more) - with_it) > 0
    off = confidence.COEFFICIENTS._replace(**{name: 0.0})
    monkeypatch.setattr(confidence, "COEFFICIENTS", off)
    assert confidence.confidence(more) == confidence.confidence(signals) != with_it


def test_evidence_raises_and_its_lack_lowers_the_estimate() -> None:
    signs = {name: value > 0 for name, value in confidence.COEFFICIENTS._asdict().items()}
    raising = {"cosine", "coverage", "support", "bm25", "names_found", "linked"}
    assert signs == {name: name in raising for name in Signals._fields}


def question(
    weights: list[int],
    names: tuple[tuple[int, ...], ...] = (),
    n_known: int = 0,
    n_assessed: int = 5,
) -> Question:
    of_terms = np.array(weights, np.int64)
    linked = float(n_known > 0)
    return Question(of_terms, names, n_known, sum(weights), linked, log1p(10), n_assessed)


def test_what_is_measured_of_several_hits_and_of_one() -> None:
    asked = question([1024, 3 * 1024, 4 * 1024], ((1,), (0, 2), (2,), (0,)), 3, n_assessed=3)
    held = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]], np.bool_)
    weighed = Evidence.of(asked, [0.2, 0.5, -0.1], held, [2.0, 0.0, 3.5])
    assert confidence.measure(asked, weighed) == Signals(
        cosine=0.5,
        coverage=0.375,  # of the best hit: the hits do not add up
        support=(0.375 + 0.125) / 3,
        bm25=3.5,
        names_found=2 / 9,
        names_missing=0.0,
        linked=1.0,
        size=log1p(10),
    )
    assert [confidence.measure_hit(asked, weighed, i) for i in range(3)] == [
        Signals(0.2, 0.375, 0.375, 2.0, 1 / 3, 1.0, 1.0, log1p(10)),
        Signals(0.5, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, log1p(10)),
        Signals(-0.1, 0.125, 0.125, 3.5, 1 / 3, 0.0, 1.0, log1p(10)),
    ]


def test_hits_that_are_missing_support_nothing(memories: Memories) -> None:
    """Of five the rest held nothing; of fewer chunks than five there is no more to have."""
    held = np.array([[True, False]])
    few, one = (question([3, 1], ((0,),), 1, n_assessed=n) for n in (5, 1))
    for asked, share in ((few, 0.2), (one, 1.0)):
        signals = confidence.measure(asked, Evidence.of(asked, [0.5], held, [1.0]))
        assert (signals.support, signals.names_found) == pytest.approx((0.75 * share, share))
    for n_chunks in range(1, 8):
        memories.add(f"number {n_chunks}")
        visible = memories.snapshot.n_alive
        assert read(memories, "number", n_visible=visible).n_assessed == min(n_chunks, 5)


def test_only_the_first_hits_are_assessed() -> None:
    asked = question([1], ((0,),), n_known=1)
    held = np.arange(7)[:, None] == 6
    cosines, scores = [0.0] * 6 + [1.0], [0.0] * 6 + [9.0]
    signals = confidence.measure(asked, Evidence.of(asked, cosines, held, scores))
    assert signals == Signals(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, log1p(10))


def test_a_question_without_terms_has_no_coverage() -> None:
    nothing = Evidence.of(question([]), [0.3], np.zeros((1, 0), np.bool_), [0.0])
    assert confidence.measure(question([]), nothing).coverage == 0.0


def test_however_odd_a_question_whose_every_word_is_held_is_answered() -> None:
    odd = Signals(-1.0, 1.0, 0.2, 0.0, 0.0, 1.0, 0.0, 12.0)
    assert confidence.confidence(odd) == confidence.THRESHOLD
    assert confidence.confidence(odd._replace(coverage=0.999)) < confidence.THRESHOLD


@pytest.mark.parametrize(
    ("q", "names"),
    [
        ("Where did Ana meet Rui?", ["Ana", "Rui?"]),
        ("Ana went home. Then Rui called", ["Rui"]),
        ("where did ana meet rui", []),
        ("WHERE IS ANA", []),
        ("Deep Learning Survey", []),
        ("what happened in May on Monday", []),
        ("what is DEC-0054 about", ["DEC-0054"]),
        ("zx81 manual", ["zx81"]),
        ("call foo_bar with 20 items", ["foo_bar"]),
        ("What did Ana's brother say in “The Old Sea”?", ["Ana's", "Old", "Sea”?"]),
    ],
)
def test_names_of_a_question(q: str, names: list[str]) -> None:
    found = confidence.names(q, "english")
    assert [name.rstrip("?”") for name in found] == [name.rstrip("?”") for name in names]


def test_german_nouns_are_no_names() -> None:
    assert confidence.names("wo liegt der Schlüssel zum Keller", "german") == []
    assert confidence.names("wo liegt der Schlüssel zum Keller", "english") != []


def test_a_name_that_no_hit_holds_counts_against(world: Memories) -> None:
    own = world.recall("What did Marta repair?")["assessment"]
    other = world.recall("What did Gustav repair?")["assessment"]
    assert (own["signals"]["names_found"], own["signals"]["names_missing"]) == (0.0, 0.0)
    assert (other["signals"]["names_found"], other["signals"]["names_missing"]) == (0.0, 1.0)
    assert other["confidence"] < own["confidence"]


def test_the_graph_knows_names_in_lower_case(memories: Memories) -> None:
    memories.add("She keeps the boat in the harbour", names=["Marta"])
    memories.add("Marta is my neighbour", names=["Marta"])
    signals = memories.recall("where does marta live")["assessment"]["signals"]
    assert (signals["names_found"], signals["linked"]) == (0.5, 1.0)  # one of two texts says it
    signals = memories.recall("where does gustav live")["assessment"]["signals"]
    assert (signals["names_found"], signals["linked"]) == (0.0, 0.0)


def test_a_word_that_is_seldom_written_as_a_name_is_none(memories: Memories) -> None:
    memories.add("Love conquers all", names=["Love"])
    for i in range(3):
        memories.add(f"they love cake number {i}")
    asked = read(memories, "who does Marta love")
    assert asked.linked == 1.0
    assert (asked.names, asked.n_known) == (((0,),), 0)  # Marta, of whom the graph knows nothing
    for n_named in range(2, 8):  # of as many and three that hold the word
        memories.add(f"Love is number {n_named}", names=["Love"])
        assert read(memories, "who does Marta love").n_known == (n_named == 7)
    asked = read(memories, "who does Marta love")
    assert (asked.names, asked.n_known) == (((1,), (0,)), 1)


def test_a_known_name_in_capitals_is_no_unknown_one_too(memories: Memories) -> None:
    memories.add("Marta is my neighbour", names=["Marta"])
    asked = read(memories, "where does Marta live")
    assert (len(asked.names), asked.n_known) == (1, 1)


def test_names_count_without_the_graph_leg(memories: Memories) -> None:
    memories.add("Marta sings", names=["Marta"])
    on, off = (memories.recall("what does Marta sing", graph=graph) for graph in (True, False))
    assert off["legs"]["graph"]["status"] == "skipped"
    names = ("names_found", "names_missing", "linked")
    for answer in (on, off):
        assert [answer["assessment"]["signals"][name] for name in names] == [1.0, 0.0, 1.0]


def test_an_entity_of_others_is_not_known(memories: Memories) -> None:
    memories.add("Marta keeps the ledger", names=["Marta"], owner="bob")
    memories.add("The ledger is green")
    signals = memories.recall("what does marta keep")["assessment"]["signals"]
    assert (signals["names_found"], signals["linked"]) == (0.0, 0.0)


def test_terms_weigh_what_they_count_in_the_model(memories: Memories) -> None:
    memories.add("report about boats")
    asked = read(memories, "how to find zebras")
    weights = dict(zip(ANALYZER.query("how to find zebras").terms, asked.weights, strict=True))
    assert weights["find"] < weights["zebra"] == 1024
    # A store in which a word is common makes no other question of it.
    for i in range(50):
        memories.add(f"zebra number {i}")
    assert read(memories, "how to find zebras").weights.tolist() == asked.weights.tolist()


def test_what_the_model_does_not_know_weighs_most(memories: Memories) -> None:
    memories.add("text")
    assert memories.model.length("🎉") == 0.0
    assert read(memories, "🎉 find boats").weights.max() == 1024
    assert read(memories, "🎉 find boats").weights[0] == 1024
    assert read(memories, "🎉").weights.tolist() == [1024]


def test_every_term_weighs_something(memories: Memories) -> None:
    """Else a hit would hold every word of a question without holding them all."""
    memories.add("text")
    terms = ANALYZER.query("boat harbour")
    asked = confidence.read_question(
        "boat harbour",
        terms,
        memories.snapshot.vocabulary.lookup(terms.joined),
        [1e-9, 1.0],
        [],
        snapshot=memories.snapshot,
        n_visible=1,
        analyzer=ANALYZER,
    )
    assert asked.weights.tolist() == [1, 1024]


def test_what_the_filters_leave_out_is_not_counted_nor_known(memories: Memories) -> None:
    memories.add("Marta keeps the ledger", names=["Marta"], domain="office")
    memories.add("The ledger is green", domain="home")
    signals = memories.recall("what does marta keep", domain="home")["assessment"]["signals"]
    assert (signals["size"], signals["linked"]) == (log1p(1), 0.0)
    signals = memories.recall("what does marta keep")["assessment"]["signals"]
    assert (signals["size"], signals["linked"]) == (log1p(2), 1.0)


def test_bm25_is_that_of_the_question_as_asked(memories: Memories) -> None:
    for i in range(40):
        memories.add(f"alpha{i} beta{i} gamma{i}")
    memories.add("The kestrel wants falconry gloves")
    memories.add("Falconry gloves of leather, and a kestrel")
    with_it, without = (memories.recall("kestrel", expand=expand) for expand in (True, False))
    assert with_it["expansion"]["fired"]
    score = without["hits"][0]["provenance"]["lexical"]["bm25"]
    assert score != with_it["hits"][0]["provenance"]["lexical"]["bm25"]
    for answer in (with_it, without):
        assert answer["assessment"]["signals"]["bm25"] == score


def read(memories: Memories, q: str, n_visible: int = 1) -> Question:
    terms = ANALYZER.query(q)
    snapshot = memories.snapshot
    return confidence.read_question(
        q,
        terms,
        snapshot.vocabulary.lookup(terms.joined),
        [memories.model.length(term) for term in terms.terms],
        graph.link_entities(snapshot.graph, q, None),
        snapshot=snapshot,
        n_visible=n_visible,
        analyzer=ANALYZER,
    )


def test_nothing_found_has_an_assessment_too(memories: Memories) -> None:
    assert memories.recall("anything")["assessment"] == confidence.NOTHING
    memories.add("text", embedding=NOWHERE)
    answer = ask(memories, "unrelated")
    assert (answer["decision"], answer["assessment"]) == ("no_match", confidence.NOTHING)


def test_the_document_has_the_coefficients_of_the_code() -> None:
    text = (ROOT / "docs" / "confidence.md").read_text()
    table = dict(re.findall(r"^\| `(\w+)` \| (-?[\d.]+) \|", text, re.M))
    expected = {name: f"{value:.2f}" for name, value in confidence.COEFFICIENTS._asdict().items()}
    assert table == expected
    assert f"`high` from {confidence.HIGH}, `medium` from {confidence.THRESHOLD}," in text
    assert (Path(ROOT) / "docs" / "confidence.png").exists()
