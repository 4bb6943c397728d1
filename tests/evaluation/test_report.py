"""The report of a folder, and the verdict."""

from pathlib import Path

import pytest

from brain_daemon.evaluation.rankings import FULL, ROWS
from brain_daemon.evaluation.report import evaluate, verdict
from tests.evaluation.folders import QUERIES, write_jsonl


def figures(fusion: float, **legs: float) -> dict[str, dict[str, float]]:
    values = {row.name: 0.0 for row in ROWS} | legs | {FULL.name: fusion}
    return {name: {"nDCG@10": value} for name, value in values.items()}


def test_a_report_has_every_row_and_the_same_every_time(folder: Path) -> None:
    said: list[str] = []
    report = evaluate(folder, cutoffs=(1,), say=said.append)
    assert [row["name"] for row in report["rows"]] == ["grep", *(row.name for row in ROWS)]
    assert report["measures"] == ["nDCG@10", "R@1", "R@10", "MRR"]
    assert (report["documents"], report["queries"], report["relations"]) == (10, 4, 1)
    assert list(report["refused"]) == ["empty"]
    assert report["unknown"] == {}
    by_name = {row["name"]: row["figures"] for row in report["rows"]}
    assert by_name[FULL.name]["R@10"] == 1.0
    assert by_name["grep"]["R@10"] == 0.75
    assert len(said) == 2
    again = evaluate(folder, cutoffs=(1,))
    assert again == report


def test_the_rows_are_grep_each_leg_each_pair_the_fusion_with_and_without_expansion() -> None:
    names = [row.name for row in ROWS]
    legs = frozenset({"vector", "lexical", "graph"})
    assert {row.name for row in ROWS if row.legs == (row.name,)} == legs
    pairs = {frozenset(row.legs) for row in ROWS if len(row.legs) == 2}
    assert pairs == {legs - {leg} for leg in legs}
    assert {"full fusion", "fusion, no expansion", "lexical, no expansion"} <= set(names)
    assert set(FULL.legs) == legs


@pytest.mark.parametrize("text", ["", "  ", "word " * 20_000])
def test_a_question_that_recall_does_not_take_counts_as_nothing_found(
    folder: Path, text: str
) -> None:
    write_jsonl(folder / "queries.jsonl", [*QUERIES, {"_id": "odd", "text": text}])
    with (folder / "qrels.tsv").open("a") as stream:
        stream.write("odd\talgae\t1\n")
    report = evaluate(folder)
    assert list(report["not_asked"]) == ["odd"]
    by_name = {row["name"]: row["figures"] for row in report["rows"]}
    assert by_name[FULL.name]["R@10"] == 0.8


def test_given_relations_can_be_left_out(folder: Path) -> None:
    assert evaluate(folder, kg=False, limit_queries=1)["relations"] == 0


def test_settings_of_the_environment_hold_and_are_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRAIN_RECALL_GRAPH_ENABLED", "false")
    report = evaluate(folder)
    assert report["settings"] == {"recall_graph_enabled": False}
    by_name = {row["name"]: row["figures"] for row in report["rows"]}
    assert by_name["graph"]["R@10"] == 0.0


@pytest.mark.parametrize(
    ("fusion", "holds"), [(0.6, True), (0.5, True), (0.4901, True), (0.489, False)]
)
def test_the_fusion_is_held_to_its_best_single_leg(fusion: float, holds: bool) -> None:
    given = verdict(figures(fusion, vector=0.3, lexical=0.5), "nDCG@10")
    assert given["best_leg"] == "lexical"
    assert given["margin"] == pytest.approx(fusion - 0.5)
    assert given["holds"] is holds


def test_an_ablated_leg_counts_as_a_single_leg_and_a_pair_does_not() -> None:
    given = figures(0.5, **{"lexical, plain BM25": 0.55, "vector + lexical": 0.9})
    assert verdict(given, "nDCG@10")["best_leg"] == "lexical, plain BM25"
    assert not verdict(given, "nDCG@10")["holds"]
