"""The benchmark's corpus: reproducible, and shaped like prose."""

from collections import Counter

import pytest

from bench.corpus import Corpus


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus(seed=3, max_source_words=20_000)


def test_same_seed_gives_the_same_documents_and_questions(corpus: Corpus) -> None:
    again = Corpus(seed=3, max_source_words=20_000)
    assert again.digest == corpus.digest
    assert list(again.documents(0, 50)) == list(corpus.documents(0, 50))
    assert again.questions(50, 100) == corpus.questions(50, 100)


def test_another_seed_gives_others(corpus: Corpus) -> None:
    again = Corpus(seed=4, max_source_words=20_000)
    assert list(again.documents(0, 20)) != list(corpus.documents(0, 20))


def test_a_document_does_not_depend_on_the_range_it_is_asked_in(corpus: Corpus) -> None:
    assert list(corpus.documents(10, 20))[5] == corpus.document(15)


def test_no_document_is_empty_and_few_are_equal(corpus: Corpus) -> None:
    texts = [document.text for document in corpus.documents(0, 1000)]
    assert all(text.strip() for text in texts)
    assert len(set(texts)) > 990


def test_lengths_spread_around_the_mean(corpus: Corpus) -> None:
    lengths = sorted(len(d.text.split()) for d in corpus.documents(0, 1000))
    assert 75 < sum(lengths) / len(lengths) < 115
    assert lengths[100] < 60
    assert lengths[900] > 130


def test_terms_follow_zipfs_law(corpus: Corpus) -> None:
    words = Counter(
        word.lower() for document in corpus.documents(0, 1000) for word in document.text.split()
    )
    total = sum(words.values())
    ranked = [count for _, count in words.most_common()]
    assert words.most_common(1)[0][0] == "the"
    assert 0.03 < ranked[0] / total < 0.12
    assert 4 < ranked[9] / ranked[99] < 20  # 10 under an exact law
    assert sum(count <= 2 for count in ranked) > 0.15 * len(ranked)


def test_identifiers_are_rare(corpus: Corpus) -> None:
    identifiers = Counter(
        word.strip(".")
        for document in corpus.documents(0, 2000)
        for word in document.text.split()
        if word.startswith("DEC-")
    )
    assert len(identifiers) > 100
    assert max(identifiers.values()) <= 3


def test_names_come_back_so_that_memories_connect(corpus: Corpus) -> None:
    text = " ".join(document.text for document in corpus.documents(0, 1000))
    person = corpus._people[0]
    assert 20 < text.count(person) < 300


def test_questions_have_two_words_or_more_and_all_kinds(corpus: Corpus) -> None:
    questions = corpus.questions(400, 500)
    lengths = [len(question.split()) for question in questions]
    assert min(lengths) >= 2
    assert max(lengths) >= 12
    vocabulary = {w for d in corpus.documents(0, 500) for w in d.text.split()}
    known = [sum(word in vocabulary for word in question.split()) for question in questions]
    assert sum(count == 0 for count in known) in range(5, 60)
    assert any("DEC-" in question for question in questions)
