"""Token ids word by word, against the same tokenizer on the whole text."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

import brain_daemon.embedding.tokenizer
from brain_daemon.embedding.tokenizer import TextTokenizer

DATA = (
    Path(brain_daemon.embedding.tokenizer.__file__).parent / "default" / "tokenizer.json"
).read_bytes()
VOCABULARY = ["[UNK]", "a", "b", "a b", "##b", "##a", "ab"]

trouble = st.sampled_from(
    list(" \n\t\r\x1c\x85\u00a0\u2028\u3000\x00\u200b\u0301\u0345ΣσßİéaAb-'成🎉")
)


def expected(tokenizer: Tokenizer, text: str, unknown_id: int) -> list[int]:
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    return [token_id for token_id in ids if token_id != unknown_id]


@pytest.fixture(scope="module")
def bert() -> Tokenizer:
    tokenizer = Tokenizer.from_buffer(DATA)
    tokenizer.no_truncation()
    return tokenizer


@given(st.one_of(st.text(), st.text(trouble)))
@settings(max_examples=500)
def test_words_one_by_one_are_the_text_as_a_whole(bert, text):
    tokenizer = TextTokenizer(DATA, None)
    for _ in ("fresh", "remembered"):
        assert tokenizer.ids(text).tolist() == expected(bert, text, 1)


def test_words_are_remembered_up_to_a_bound():
    tokenizer = TextTokenizer(DATA, None)
    tokenizer.ids("two words")
    assert set(tokenizer._cache) == {"two", "words"}
    tokenizer.ids("w" * 41)
    assert set(tokenizer._cache) == {"two", "words"}
    for start in range(0, 50_000, 5_000):
        tokenizer.ids(" ".join(map(str, range(start, start + 5_000))))
        assert len(tokenizer._cache) <= 20_000
    tokenizer.ids(" ".join(map(str, range(30_000))))
    assert len(tokenizer._cache) == 20_000


def test_unknown_tokens_count_for_the_length_and_are_left_out():
    tokenizer = TextTokenizer(DATA, 3)
    known = tokenizer.ids("one two").tolist()
    assert tokenizer.ids("one 🎉 two one").tolist() == known
    assert len(tokenizer.ids("one two one two")) == 3
    assert tokenizer.ids("🎉").dtype == np.int32


def wordpiece(*added: str, normalizer: object = None, splitter: object = None) -> Tokenizer:
    vocabulary = {token: index for index, token in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizer or normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = splitter or pre_tokenizers.BertPreTokenizer()
    tokenizer.add_tokens([AddedToken(token) for token in added])
    return tokenizer


@pytest.mark.parametrize(
    "tokenizer",
    [
        wordpiece(),
        wordpiece("a b"),
        wordpiece("a\nb"),
        wordpiece(normalizer=normalizers.Replace(" ", "")),
        wordpiece(splitter=pre_tokenizers.Punctuation()),
    ],
    ids=["bert", "space in a token", "line end in a token", "no spaces", "spaces inside"],
)
def test_tokenizers_that_look_beyond_words_get_the_whole_text(tokenizer):
    ours = TextTokenizer(tokenizer.to_str().encode(), None)
    for text in ("a b", "a\nb", "ab a", "a  b", "zz ab"):
        assert ours.ids(text).tolist() == expected(tokenizer, text, 0)


def test_a_unigram_model_has_its_unknown_token_by_id():
    pieces = [("<pad>", 0.0), ("<unk>", 0.0), ("▁a", -1.0), ("▁b", -1.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=1))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    ours = TextTokenizer(tokenizer.to_str().encode(), None)
    assert ours.ids("a zz b").tolist() == expected(tokenizer, "a zz b", 1)
    assert 1 not in ours.ids("a zz b")


def test_the_length_in_characters_comes_from_the_median_token():
    sparse = Tokenizer(models.WordLevel({"[UNK]": 0, "abcde": 7, "ab": 900}, unk_token="[UNK]"))
    sparse.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = TextTokenizer(sparse.to_str().encode(), 2)
    assert tokenizer.ids("abcde ab abcde").tolist() == [7, 900]
    assert tokenizer.ids("     abcde").tolist() == [7]
    assert tokenizer.ids("      abcde").tolist() == []


def test_counting_cuts_nothing_and_leaves_nothing_out(bert):
    tokenizer = TextTokenizer(DATA, 4)
    text = "several words of a text, more than four \U0001f9ff"
    assert len(tokenizer.ids(text)) == 4
    assert tokenizer.count(text) == len(bert.encode(text, add_special_tokens=False).ids) > 8
    assert tokenizer.count("") == 0
