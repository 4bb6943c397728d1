"""The baseline: distinct words, then their number, then the order of the corpus."""

from brain_daemon.evaluation.collection import Document, Query
from brain_daemon.evaluation.grep import Grep


def documents(**texts: str) -> list[Document]:
    return [Document(id_, {"text": text}) for id_, text in texts.items()]


def test_all_words_come_before_any_word() -> None:
    grep = Grep(documents(one="tide tide tide", none="sun", both="Tide and MOON", other="moon"))
    assert grep.rank(Query("q", "moon and tide", None), 10) == ["both", "one", "other"]


def test_function_words_count_only_where_there_is_nothing_else() -> None:
    grep = Grep(documents(the="the the the", moon="moon"))
    assert grep.rank(Query("q", "the moon", None), 10) == ["moon"]
    assert grep.rank(Query("q", "the", None), 10) == ["the"]


def test_words_are_whole_and_not_stemmed() -> None:
    grep = Grep(documents(moons="moons", honeymoon="honeymoon", moon="full moon"))
    assert grep.rank(Query("q", "Moon?", None), 10) == ["moon"]


def test_a_domain_and_a_cut_hold() -> None:
    grep = Grep(
        [Document("a", {"text": "moon", "domain": "x"}), *documents(b="moon moon", c="moon")]
    )
    assert grep.rank(Query("q", "moon", "x"), 10) == ["a"]
    assert grep.rank(Query("q", "moon", None), 2) == ["b", "a"]


def test_titles_are_searched() -> None:
    grep = Grep([Document("a", {"text": "sun", "title": "Moon"})])
    assert grep.rank(Query("q", "moon", None), 1) == ["a"]
