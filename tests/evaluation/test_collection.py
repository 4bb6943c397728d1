"""Folders: what of them reaches the engine, and what is refused."""

from pathlib import Path

import pytest

from brain_daemon.errors import BadRequest
from brain_daemon.evaluation.collection import Collection, read
from tests.evaluation.folders import CORPUS, write_jsonl


def params(collection: Collection, id: str) -> dict[str, object]:
    (document,) = [document for document in collection.documents if document.id == id]
    return dict(document.params)


def test_every_document_keeps_its_text_and_title(collection: Collection) -> None:
    given = [(d.id, d.params["title"], d.params["text"]) for d in collection.documents]
    assert given == [(record["_id"], record["title"], record["text"]) for record in CORPUS]


def test_of_the_metadata_what_a_writer_would_know_is_used(collection: Collection) -> None:
    turn = params(collection, "a/2")
    assert turn["domain"] == "a"
    assert (turn["thread"], turn["seq"]) == ("a/1", 1)
    assert turn["created_at"] == "2023-05-08T13:56:00"
    assert params(collection, "b/1")["created_at"] == "2024-06-01"
    assert not {"domain", "thread", "created_at"} & set(params(collection, "whale"))


def test_a_question_is_restricted_to_its_own_sample(collection: Collection) -> None:
    assert {query.id: query.domain for query in collection.queries} == {
        "q1": None,
        "q2": None,
        "q3": "a",
        "stems": None,
    }


def test_only_judged_questions_are_asked_up_to_the_limit(folder: Path) -> None:
    assert [query.id for query in read(folder).queries] == ["q1", "q2", "q3", "stems"]
    limited = read(folder, limit_queries=2)
    assert [query.id for query in limited.queries] == list(limited.qrels) == ["q1", "q2"]
    assert limited.qrels["q2"] == {"krill": 1, "algae": 2}


def test_relations_and_entities_go_to_the_documents_that_state_them(folder: Path) -> None:
    given = read(folder)
    stated = {"subject": "Krill", "relation": "eats", "object": "Algae"}
    assert params(given, "krill")["relations"] == [stated]  # the one of 300 characters is not
    assert params(given, "whale")["entities"] == ["Krill", "Blue whale"]
    assert given.n_relations == 1


def test_relations_and_entities_can_be_left_out(folder: Path) -> None:
    without = read(folder, kg=False)
    assert not any(d.params["relations"] or d.params["entities"] for d in without.documents)
    assert without.n_relations == 0


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("corpus.jsonl", '{"_id": "x", "text": "y"}\n{"_id"\n', r"corpus\.jsonl, line 2: not JSON"),
        ("corpus.jsonl", '{"_id": "x"}\n', r"corpus\.jsonl, line 1: without text"),
        ("qrels.tsv", "q1\twhale\t1\nq1 whale 1\n", r"qrels\.tsv, line 2: give query, document"),
        ("qrels.tsv", "q1\twhale\thigh\n", r"qrels\.tsv, line 1: give query, document"),
        ("qrels.tsv", "query-id\tcorpus-id\tscore\nq1\twhale\t0\n", "no question of queries.jsonl"),
    ],
)
def test_a_broken_file_is_named_with_its_line(
    folder: Path, file: str, text: str, message: str
) -> None:
    (folder / file).write_text(text)
    with pytest.raises(BadRequest, match=message):
        read(folder)


def test_a_folder_without_a_corpus_is_no_collection(folder: Path) -> None:
    (folder / "corpus.jsonl").unlink()
    with pytest.raises(FileNotFoundError, match=r"corpus\.jsonl"):
        read(folder)


def test_a_collection_needs_no_graph_files(folder: Path) -> None:
    (folder / "kg.jsonl").unlink()
    write_jsonl(folder / "entities.jsonl", [])
    assert not any(d.params["relations"] for d in read(folder).documents)
