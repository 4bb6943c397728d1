"""Postings and BM25 against FTS5 and plain Python."""

import math
from collections import Counter

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_daemon._ext.bm25 import (
    Postings,
    document_frequencies,
    rows_with_all,
    term_frequencies,
    topk_bm25,
)
from brain_daemon._ext.vocabulary import Vocabulary


class Corpus:
    """Texts in postings, in a plain list and in FTS5."""

    def __init__(self):
        self.vocabulary = Vocabulary()
        self.postings = Postings()
        self.lengths: list[int] = []
        self.alive: list[int] = []
        self.texts: list[str] = []
        self.connection = apsw.Connection(":memory:")
        self.connection.execute("CREATE VIRTUAL TABLE f USING fts5(text, tokenize = 'ascii')")

    def add(self, texts, batch):
        for start in range(0, len(texts), batch):
            rows, indptr, ids, tfs = [], [0], [], []
            for text in texts[start : start + batch]:
                row = len(self.texts)
                text_ids, text_tfs, length = self.vocabulary.count(text.encode())
                rows.append(row)
                ids.append(text_ids)
                tfs.append(text_tfs)
                indptr.append(indptr[-1] + len(text_ids))
                self.lengths.append(length)
                self.alive.append(1)
                self.texts.append(text)
                sql = "INSERT INTO f(rowid, text) VALUES (?, ?)"
                self.connection.execute(sql, (row + 1, text))
            self.postings = self.postings.append(
                np.array(rows, np.int32),
                np.array(indptr, np.int64),
                np.concatenate(ids),
                np.concatenate(tfs),
            )

    def delete(self, row):
        self.alive[row] = 0
        self.connection.execute("DELETE FROM f WHERE rowid = ?", (row + 1,))

    def arguments(self, query):
        alive = np.array(self.alive, np.uint8)
        lengths = np.array(self.lengths, np.int32)
        n_documents = int(alive.sum())
        average = float(lengths[alive != 0].mean()) if n_documents else 0.0
        term_ids = self.vocabulary.lookup(query.encode())
        for array in (alive, lengths, term_ids):
            array.flags.writeable = False
        return term_ids, lengths, alive, n_documents, average

    def search(self, query, k, visible=None):
        term_ids, lengths, alive, n_documents, average = self.arguments(query)
        return topk_bm25(self.postings, term_ids, lengths, alive, visible, n_documents, average, k)

    def fts5(self, query):
        expression = " OR ".join(f'"{term}"' for term in query.split())
        sql = "SELECT rowid - 1, -bm25(f) FROM f WHERE f MATCH ? ORDER BY bm25(f), rowid"
        return list(self.connection.execute(sql, (expression,)))

    def plain(self, query):
        """The formula, written out."""
        documents = {row: text.split() for row, text in enumerate(self.texts) if self.alive[row]}
        average = sum(map(len, documents.values())) / max(len(documents), 1)
        scores: Counter[int] = Counter()
        for term in query.split():
            df = sum(term in words for words in documents.values())
            idf = math.log((len(documents) - df + 0.5) / (df + 0.5))
            idf = idf if idf > 0 else 1e-6
            for row, words in documents.items():
                tf = words.count(term)
                norm = 1.2 * (1 - 0.75 + 0.75 * len(words) / average)
                if tf:
                    scores[row] += idf * (tf * (1.2 + 1.0) / (tf + norm))
        return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))


def random_texts(n, seed, longest=60):
    rng = np.random.default_rng(seed)
    return [
        " ".join(f"w{int(term)}" for term in rng.zipf(1.3, rng.integers(1, longest)) % 500)
        for _ in range(n)
    ]


QUERIES = ["w1", "w1 w2", "w3 w17 w40", "w7 w7 w9", "w499 w498", "w5 absent w11 w2 w80 w33"]


def assert_hits(found, expected):
    rows, scores = found
    assert rows.dtype == np.int32
    assert scores.dtype == np.float64
    assert rows.tolist() == [row for row, _ in expected]
    np.testing.assert_allclose(scores, [score for _, score in expected], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", [1, 100, 10**9])
@pytest.mark.parametrize("query", QUERIES)
def test_scores_and_order_are_those_of_fts5(query, k):
    corpus = Corpus()
    corpus.add(random_texts(400, 1), batch=150)
    assert_hits(corpus.search(query, k), corpus.fts5(query)[:k])
    for row in [0, 3, 7, 150, *range(200, 260), 399]:
        corpus.delete(row)
    assert_hits(corpus.search(query, k), corpus.fts5(query)[:k])
    corpus.add(random_texts(200, 2, longest=3000), batch=1)
    assert_hits(corpus.search(query, k), corpus.fts5(query)[:k])
    corpus.postings = corpus.postings.compact(np.array(corpus.alive, np.uint8))
    assert_hits(corpus.search(query, k), corpus.fts5(query)[:k])


text_lists = st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=9), max_size=25)


@given(text_lists, st.data())
def test_random_histories_agree_with_the_formula(texts, data):
    corpus = Corpus()
    for words in texts:
        corpus.add([" ".join(words)], batch=1)
        if data.draw(st.booleans()):
            corpus.delete(data.draw(st.integers(0, len(corpus.texts) - 1)))
    query = " ".join(data.draw(st.lists(st.sampled_from("abcdefghz"), max_size=5)))
    k = data.draw(st.integers(1, 30))
    found = corpus.search(query, k)
    expected = corpus.plain(query)[:k]
    np.testing.assert_allclose(found[1], [score for _, score in expected], rtol=1e-12)
    assert_hits(found, expected)


def test_ties_ascend_by_row():
    corpus = Corpus()
    corpus.add(["x y"] * 300 + ["z z"] * 400, batch=100)
    rows, scores = corpus.search("x", 50)
    assert rows.tolist() == list(range(50))
    assert len(set(scores.tolist())) == 1


def test_visible_limits_before_the_cut():
    corpus = Corpus()
    corpus.add(["secret word"] * 5000 + ["word " + "filler " * 40] * 3 + ["other"] * 9000, 4000)
    visible = np.zeros(len(corpus.texts), np.uint8)
    visible[[5000, 5001, 5002]] = 1
    rows, scores = corpus.search("word", 3, visible)
    assert rows.tolist() == [5000, 5001, 5002]
    everything = dict(zip(*[part.tolist() for part in corpus.search("word", 9999)], strict=True))
    assert [everything[row] for row in rows.tolist()] == scores.tolist()


def test_dead_rows_are_no_hits_and_do_not_count():
    corpus = Corpus()
    corpus.add(["rare common", "common", "common more", "rare x"], batch=1)
    corpus.delete(0)
    assert corpus.search("rare", 9)[0].tolist() == [3]
    term_ids, _, alive, _, _ = corpus.arguments("rare common absent x")
    assert document_frequencies(corpus.postings, term_ids, alive).tolist() == [1, 2, 0, 1]
    assert document_frequencies(corpus.postings, term_ids, alive | 1).tolist() == [2, 3, 0, 1]


def test_a_repeated_term_counts_again_and_an_absent_one_not():
    corpus = Corpus()
    corpus.add(["a b", "b c", "c d", "d e", "e f"], batch=5)
    once, twice = corpus.search("a", 1)[1][0], corpus.search("a a", 1)[1][0]
    assert twice == 2 * once
    assert corpus.search("a absent", 1)[1][0] == once


def test_segments_stay_few_and_change_nothing():
    texts = random_texts(3000, 3)
    single, many = Corpus(), Corpus()
    single.add(texts, batch=3000)
    sizes = set()
    for start in range(0, 3000, 7):
        many.add(texts[start : start + 7], batch=7)
        sizes.add(many.postings.n_segments)
    assert single.postings.n_segments == 1
    assert max(sizes) > 1
    assert max(sizes) <= 2 + math.log(many.postings.n_postings / 4096, 3)
    assert many.postings.n_postings == single.postings.n_postings
    for query in QUERIES:
        for one, other in zip(single.search(query, 100), many.search(query, 100), strict=True):
            np.testing.assert_array_equal(one, other)


def test_old_postings_are_left_as_they_were():
    corpus = Corpus()
    corpus.add(random_texts(300, 4), batch=50)
    old, before = corpus.postings, corpus.search("w1 w2", 100)
    n_postings = old.n_postings
    arguments = corpus.arguments("w1 w2")
    corpus.add(random_texts(300, 5), batch=1)
    old.compact(np.zeros(300, np.uint8))
    term_ids, lengths, alive, n_documents, average = arguments
    after = topk_bm25(old, term_ids, lengths, alive, None, n_documents, average, 100)
    np.testing.assert_array_equal(before, after)
    assert old.n_postings == n_postings


def test_compact_drops_dead_rows():
    corpus = Corpus()
    corpus.add(["a b", "b c", "c d"], batch=1)
    kept = corpus.postings.compact(np.array([0, 1, 1], np.uint8))
    assert (kept.n_postings, kept.n_segments) == (4, 1)
    everything = np.ones(3, np.uint8)
    ids = corpus.vocabulary.lookup(b"a b c d")
    assert document_frequencies(kept, ids, everything).tolist() == [0, 1, 2, 1]
    nothing = corpus.postings.compact(np.zeros(3, np.uint8))
    assert (nothing.n_postings, nothing.n_segments) == (0, 0)
    assert kept.nbytes > nothing.nbytes == 0


@given(
    st.lists(st.lists(st.sampled_from("abcdef")).map(" ".join), max_size=30),
    st.lists(st.sampled_from("abcdefg"), max_size=4),
    st.integers(1, 30),
)
def test_rows_with_all_terms(texts, words, batch):
    corpus = Corpus()
    corpus.add(texts, batch)
    ids = corpus.vocabulary.lookup(" ".join(words).encode())
    found = rows_with_all(corpus.postings, ids)
    assert found.dtype == np.int32
    wanted = set(words)
    expected = [row for row, text in enumerate(texts) if wanted and wanted <= set(text.split())]
    assert found.tolist() == expected


def test_term_frequencies():
    corpus = Corpus()
    texts = random_texts(200, 6)
    corpus.add(texts, batch=13)
    words = ["w1", "w2", "absent", "w9", "w1"]
    rows = np.array([199, 0, 57, 57, 3, 12_345, -1], np.int32)
    ids = corpus.vocabulary.lookup(" ".join(words).encode())
    found = term_frequencies(corpus.postings, ids, rows)
    assert found.dtype == np.uint16
    expected = [
        [texts[row].split().count(word) if 0 <= row < 200 else 0 for word in words] for row in rows
    ]
    assert found.tolist() == expected
    assert term_frequencies(corpus.postings, ids[:0], rows).shape == (7, 0)
    assert term_frequencies(Postings(), ids, rows[:0]).shape == (0, 5)


def test_empty_postings():
    none, empty = np.empty(0, np.int32), np.empty(0, np.uint8)
    assert (Postings().n_postings, Postings().n_segments, Postings().nbytes) == (0, 0, 0)
    rows, scores = topk_bm25(Postings(), none, none, empty, empty, 0, 0.0, 5)
    assert rows.shape == scores.shape == (0,)
    assert document_frequencies(Postings(), np.zeros(2, np.int32), empty).tolist() == [0, 0]
    assert Postings().compact(empty).n_postings == 0
    nothing = np.empty(0, np.uint32), np.empty(0, np.uint16)
    same = Postings().append(np.array([4], np.int32), np.zeros(2, np.int64), *nothing)
    assert same.n_postings == 0


@pytest.mark.parametrize(
    ("rows", "indptr", "ids", "tfs"),
    [
        ([5], [0, 1], [0], [1]),  # not above row 5
        ([7, 7], [0, 1, 2], [0, 0], [1, 1]),
        ([8, 7], [0, 1, 2], [0, 0], [1, 1]),
        ([7], [0, 2], [0], [1]),
        ([7], [1, 1], [0], [1]),
        ([7], [0, 0], [0], [1]),
        ([7, 8], [0, 2, 1], [0], [1]),
        ([7, 8, 9], [0, 2, -1, 1], [0], [1]),
        ([7], [0, 2], [1, 1], [1, 1]),
        ([7], [0, 2], [2, 1], [1, 1]),
        ([7], [0, 1], [2**31], [1]),
        ([7], [0, 1], [0], [0]),
        ([7], [0, 1], [0], [1, 1]),
        ([7], [0], [], []),
    ],
)
def test_append_refuses_what_is_not_forward_lists(rows, indptr, ids, tfs):
    first = [np.array([5], np.int32), np.array([0, 1]), np.zeros(1, np.uint32)]
    postings = Postings().append(*first, np.ones(1, np.uint16))
    with pytest.raises(ValueError, match=r"."):
        postings.append(
            np.array(rows, np.int32),
            np.array(indptr, np.int64),
            np.array(ids, np.uint32),
            np.array(tfs, np.uint16),
        )


def test_wrong_arguments_are_refused():
    corpus = Corpus()
    corpus.add(["a b", "b c"], batch=2)
    term_ids, lengths, alive, n_documents, average = corpus.arguments("b")
    ok = [corpus.postings, term_ids, lengths, alive, None, n_documents, average, 5]
    assert len(topk_bm25(*ok)[0]) == 2
    wrong = {
        1: [term_ids.astype(np.int64)],
        2: [lengths[:1]],
        3: [alive[:1]],
        4: [alive[:1]],
        5: [-1, 3],
        6: [0.0, -1.0, math.nan, math.inf],
        7: [0, -1],
    }
    for position, values in wrong.items():
        for value in values:
            arguments = [*ok]
            arguments[position] = value
            with pytest.raises(ValueError, match=r"."):
                topk_bm25(*arguments)
    for k1, b in [(-1, 0.5), (math.nan, 0.5), (1.2, 2), (1.2, math.nan)]:
        with pytest.raises(ValueError, match="k1"):
            topk_bm25(*ok, k1, b)
    short = alive[:1]
    with pytest.raises(ValueError, match="row 1 has postings, but there are 1 rows"):
        topk_bm25(corpus.postings, term_ids, lengths[:1], short, None, 1, 2.0, 5)
    with pytest.raises(ValueError, match="row 1 has postings"):
        document_frequencies(corpus.postings, term_ids, short)
    with pytest.raises(ValueError, match="row 1 has postings"):
        corpus.postings.compact(short)


@pytest.mark.parametrize("n_dead", [1, 40, 700])
def test_frequent_terms_are_counted_without_the_dead(n_dead):
    corpus = Corpus()
    corpus.add([f"common w{row % 7}" for row in range(1500)], 500)
    for row in range(0, 2 * n_dead, 2):
        corpus.delete(row)
    ids = corpus.vocabulary.lookup(b"common w3 w4")
    alive = np.array(corpus.alive, np.uint8)
    assert document_frequencies(corpus.postings, ids, alive).tolist() == [
        sum(a and word in text.split() for a, text in zip(corpus.alive, corpus.texts, strict=True))
        for word in ("common", "w3", "w4")
    ]


def test_weights_multiply_the_shares_of_terms():
    corpus = Corpus()
    corpus.add(["apple", "apple pear pear", "pear", "plum"], 2)
    ids = corpus.vocabulary.lookup(b"apple pear")
    lengths, alive = np.array(corpus.lengths, np.int32), np.array(corpus.alive, np.uint8)

    def scores(ids, weights=None):
        average = sum(corpus.lengths) / 4
        found = topk_bm25(
            corpus.postings, ids, lengths, alive, None, 4, average, 4, weights=weights
        )
        return dict(zip(found[0].tolist(), found[1].tolist(), strict=True))

    weighed = scores(ids, np.array([3.0, 1.0]))
    assert weighed == pytest.approx(scores(np.concatenate([ids, ids[:1], ids[:1]])))
    assert weighed != scores(ids)
    assert scores(ids, np.ones(2)) == scores(ids)
    for wrong in ([1.0], [1.0, 0.0], [1.0, math.inf], [1.0, math.nan]):
        with pytest.raises(ValueError, match="weight"):
            scores(ids, np.array(wrong))
