"""The term vocabulary against a dict."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_daemon._ext.vocabulary import Vocabulary

terms = st.one_of(
    st.sampled_from(["a", "b", "ab", "memory", "naïve", "成语", "🎉", "foo_bar.baz", "x" * 300]),
    st.text(st.characters(exclude_characters=" ", exclude_categories=["Cs"]), min_size=1),
)


@given(st.lists(st.lists(terms, max_size=30), max_size=8))
def test_ids_and_counts_are_those_of_a_dict(texts):
    vocabulary = Vocabulary()
    oracle: dict[bytes, int] = {}
    for text in texts:
        words = [term.encode() for term in text]
        joined = b" ".join(words)
        assert vocabulary.lookup(joined).tolist() == [oracle.get(word, -1) for word in words]
        for word in words:
            oracle.setdefault(word, len(oracle))
        expected = sorted(Counter(oracle[word] for word in words).items())
        ids, tfs, length = vocabulary.count(joined)
        assert (ids.dtype, tfs.dtype) == (np.uint32, np.uint16)
        assert list(zip(ids.tolist(), tfs.tolist(), strict=True)) == expected
        assert length == len(words)
        assert vocabulary.lookup(joined).tolist() == [oracle[word] for word in words]
    assert len(vocabulary) == len(oracle)
    assert [vocabulary.term(i) for i in range(len(oracle))] == list(oracle)


def test_empty_terms_are_ignored():
    vocabulary = Vocabulary()
    assert vocabulary.count(b"")[2] == 0
    assert vocabulary.count(b"   ")[2] == 0
    ids, tfs, length = vocabulary.count(b"  b  a b ")
    assert (ids.tolist(), tfs.tolist(), length) == ([0, 1], [2, 1], 3)
    assert vocabulary.lookup(b" a  c b ").tolist() == [1, -1, 0]
    assert vocabulary.lookup(b"").shape == (0,)
    assert len(vocabulary) == 2


def test_lookup_adds_nothing():
    vocabulary = Vocabulary()
    assert vocabulary.lookup(b"x y x").tolist() == [-1, -1, -1]
    assert len(vocabulary) == 0


def test_frequencies_saturate():
    ids, tfs, length = Vocabulary().count(b"a " * 70_000 + b"b")
    assert ids.tolist() == [0, 1]
    assert tfs.tolist() == [65_535, 1]
    assert length == 70_001


def test_it_grows_and_stays_small():
    vocabulary = Vocabulary()
    words = [f"term{i:06d}".encode() for i in range(100_000)]
    for start in range(0, len(words), 1000):
        vocabulary.count(b" ".join(words[start : start + 1000]))
    assert len(vocabulary) == 100_000
    assert vocabulary.lookup(b" ".join(words)).tolist() == list(range(100_000))
    assert vocabulary.term(99_999) == b"term099999"
    assert vocabulary.nbytes < 60 * 100_000


def test_wrong_arguments_are_refused():
    vocabulary = Vocabulary()
    vocabulary.count(b"a")
    for wrong in (-1, 1, 2**40):
        with pytest.raises(ValueError, match=f"term id {wrong} is outside a vocabulary of 1"):
            vocabulary.term(wrong)
    for text in ("a", None, bytearray(b"a")):
        with pytest.raises(TypeError):
            vocabulary.count(text)
        with pytest.raises(TypeError):
            vocabulary.lookup(text)
