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


X = '{"_id": "x", "text": "y"}\n'


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("corpus.jsonl", X + '{"_id"\n', r"corpus\.jsonl, line 2: not JSON"),
        ("corpus.jsonl", "[" * 100_000, r"corpus\.jsonl, line 1: not JSON"),
        ("corpus.jsonl", '{"_id": "x"}\n', r"corpus\.jsonl, line 1: without text"),
        ("corpus.jsonl", '"_id and text"\n', r"corpus\.jsonl, line 1: give an object, not \"_id"),
        ("corpus.jsonl", "\n5\n", r"corpus\.jsonl, line 2: give an object, not 5"),
        ("corpus.jsonl", '{"_id": 1, "text": "y"}\n', r"line 1: _id is 1; give a string"),
        ("corpus.jsonl", '{"_id": "x", "text": null}\n', r"line 1: text is None; give a string"),
        ("corpus.jsonl", '{"_id": "x", "text": "y", "title": 3}\n', "title is 3; give a string"),
        ("corpus.jsonl", '{"_id": "x", "text": "", "metadata": "m"}\n', "give an object"),
        ("corpus.jsonl", X + "\n" + X, r"corpus\.jsonl, record 2: _id 'x' stands there twice"),
        ("corpus.jsonl", "\n", r"corpus\.jsonl has no document"),
        ("queries.jsonl", X + X, r"queries\.jsonl, record 2: _id 'x' stands there twice"),
        ("queries.jsonl", '{"_id": "q1", "text": ["y"]}\n', r"queries\.jsonl, line 1: text is"),
        ("kg.jsonl", '{"subject": 1, "relation": "", "object": "", "docs": []}', "subject is 1"),
        (
            "kg.jsonl",
            '{"subject": "a", "relation": "b", "object": "c", "docs": "krill"}',
            "docs is 'krill'; give an array",
        ),
        ("entities.jsonl", '{"doc": "whale", "entities": {}}', "entities is {}; give an array"),
        ("qrels.tsv", "q1\twhale\t1\nq1 whale 1\n", r"qrels\.tsv, line 2: give query, document"),
        ("qrels.tsv", "q1\twhale\thigh\n", r"qrels\.tsv, line 1: give query, document"),
        ("qrels.tsv", "q1\t0\twhale\t1\n", r"qrels\.tsv, line 1: give query, document"),
        ("qrels.tsv", "q1\twhale\t0.5\n", r"line 1: .* a whole number"),
        ("qrels.tsv", "query-id\tcorpus-id\tscore\nq1\twhale\t0\n", "no question of queries.jsonl"),
        ("qrels.tsv", "", "no question of queries.jsonl"),
    ],
)
def test_a_broken_file_is_named_with_its_line(
    folder: Path, file: str, text: str, message: str
) -> None:
    (folder / file).write_text(text)
    with pytest.raises(BadRequest, match=message):
        read(folder)


@pytest.mark.parametrize(
    "file", ["corpus.jsonl", "queries.jsonl", "qrels.tsv", "kg.jsonl", "entities.jsonl"]
)
def test_what_is_not_utf_8_is_named_with_its_line(folder: Path, file: str) -> None:
    (folder / file).write_bytes((folder / file).read_bytes() + b"\xff\n")
    with pytest.raises(BadRequest, match=rf"{file}, line \d+: not UTF-8"):
        read(folder)


def test_byte_order_marks_and_line_ends_of_windows_change_nothing(folder: Path) -> None:
    expected = read(folder)
    for file in folder.iterdir():
        text = file.read_text()
        if file.name == "qrels.tsv":
            text = text.partition("\n")[2]  # without its header
        file.write_bytes(("\ufeff" + text.replace("\n", "\r\n") + "\r\n").encode())
    assert read(folder) == expected


@pytest.mark.parametrize("heading", ["score", "Score", "rel", "relevance", "gain", "label"])
def test_a_header_of_qrels_is_skipped(folder: Path, heading: str) -> None:
    (folder / "qrels.tsv").write_text(f"a\tb\t{heading}\nq1\twhale\t1\n")
    assert read(folder).qrels == {"q1": {"whale": 1}}


def test_what_leads_nowhere_is_told(folder: Path) -> None:
    assert read(folder).unknown == {}
    stated = {"subject": "A", "relation": "b", "object": "C", "docs": ["nemo", "krill"]}
    write_jsonl(folder / "kg.jsonl", [stated])
    write_jsonl(folder / "entities.jsonl", [{"doc": "dory", "entities": ["Reef"]}])
    (folder / "qrels.tsv").write_text("q1\twhale\t1\nq1\tmarlin\t1\nq99\twhale\t1\n")
    given = read(folder)
    assert given.unknown == {
        "kg.jsonl": ["nemo"],
        "entities.jsonl": ["dory"],
        "qrels.tsv": ["marlin", "q99"],
    }
    assert given.n_relations == 1
    assert given.qrels == {"q1": {"whale": 1, "marlin": 1}}  # not found is what it counts as


def test_a_sample_that_is_a_number_is_a_domain(folder: Path) -> None:
    write_jsonl(folder / "corpus.jsonl", [{"_id": "whale", "text": "y", "metadata": {"sample": 7}}])
    write_jsonl(folder / "queries.jsonl", [{"_id": "q1", "text": "y", "metadata": {"sample": 7}}])
    given = read(folder)
    assert (given.documents[0].domain, given.queries[0].domain) == ("7", "7")


def test_a_folder_without_a_corpus_is_no_collection(folder: Path) -> None:
    (folder / "corpus.jsonl").unlink()
    with pytest.raises(FileNotFoundError, match=r"corpus\.jsonl"):
        read(folder)


def test_a_collection_needs_no_graph_files(folder: Path) -> None:
    (folder / "kg.jsonl").unlink()
    write_jsonl(folder / "entities.jsonl", [])
    assert not any(d.params["relations"] for d in read(folder).documents)
