"""Token ids as we find them, against the tokenizers library on the whole text."""

import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

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


@pytest.fixture(scope="module")
def ours() -> TextTokenizer:
    return TextTokenizer(DATA, None)


@given(st.one_of(st.text(), st.text(trouble)))
@settings(max_examples=500)
def test_words_one_by_one_are_the_text_as_a_whole(bert, ours, text):
    ours._encode.__self__._cache.clear()
    for _ in ("fresh", "remembered"):
        assert ours.ids(text).tolist() == expected(bert, text, 1)


def test_words_that_are_not_plain_are_remembered_up_to_a_bound(bert):
    tokenizer = TextTokenizer(DATA, None)
    remembered = tokenizer._encode.__self__._cache
    tokenizer.ids("some naïve café words")
    assert set(remembered) == {"naïve", "café"}
    tokenizer.ids("é" * 41)
    assert set(remembered) == {"naïve", "café"}
    for start in range(0, 12_000, 1_500):
        text = " ".join(f"é{number}" for number in range(start, start + 1_500))
        assert tokenizer.ids(text).tolist() == expected(bert, text, 1)
        assert 0 < len(remembered) <= 5_000


def test_every_character_is_read_as_the_library_reads_it(bert):
    tokenizer = TextTokenizer(DATA, None)
    characters = [chr(c) for c in range(0x30000) if not 0xD800 <= c < 0xE000]
    words = [f"a{c}Be{c}" for c in characters if unicodedata.category(c) != "Cn"]
    for start in range(0, len(words), 5_000):
        part = words[start : start + 5_000]
        encodings = bert.encode_batch_fast(part, add_special_tokens=False)
        for word, encoding in zip(part, encodings, strict=True):
            known = [token_id for token_id in encoding.ids if token_id != 1]
            assert tokenizer.ids(word).tolist() == known, word


def test_a_process_that_meets_well_known_characters_only_does_without_the_library():
    program = """
import sys
from brain_daemon.embedding.model import StaticModel
model = StaticModel.load()
assert model.embed("plain words, (and) code_names\\n\\tof ASCII").any()
assert "tokenizers" not in sys.modules
assert model.embed("naïve “quotes” — Ελλάς, 成语, ключ, 🎉").any()
assert "tokenizers" not in sys.modules
assert model.embed("\u1fbf\U00011f00").any() is not None
assert "tokenizers" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_words_of_real_texts(bert, shared_data):
    words = set()
    for path in sorted(shared_data.rglob("*.md"))[:100]:
        text = path.read_text("utf-8", "ignore")[:20_000]
        words.update(text.split())
        assert TextTokenizer(DATA, None).ids(text).tolist() == expected(bert, text, 1)
    tokenizer = TextTokenizer(DATA, None)
    for word in sorted(words):
        assert tokenizer.ids(word).tolist() == expected(bert, word, 1)


def test_unknown_tokens_count_for_the_length_and_are_left_out():
    tokenizer = TextTokenizer(DATA, 3)
    known = tokenizer.ids("one two").tolist()
    assert tokenizer.ids("one 🎉 two one").tolist() == known
    assert len(tokenizer.ids("one two one two")) == 3
    assert tokenizer.ids("🎉").dtype == np.int32


def wordpiece(
    *added: str | AddedToken,
    normalizer: object = None,
    splitter: object = None,
    **traits: Any,
) -> Tokenizer:
    vocabulary = {token: index for index, token in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", **traits))
    tokenizer.normalizer = normalizer or normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = splitter or pre_tokenizers.BertPreTokenizer()
    tokenizer.add_tokens([AddedToken(t) if isinstance(t, str) else t for t in added])
    return tokenizer


@pytest.mark.parametrize(
    "tokenizer",
    [
        wordpiece(),
        wordpiece("a b"),
        wordpiece("a\nb"),
        wordpiece(normalizer=normalizers.Replace(" ", "")),
        wordpiece(splitter=pre_tokenizers.Punctuation()),
        wordpiece("ab", "aba", "[SEP]"),
        wordpiece(*[AddedToken(token, normalized=False) for token in ("[X]", "[X][X]", "a b")]),
        wordpiece(AddedToken("[X]", normalized=False, lstrip=True)),
        wordpiece(AddedToken("b", normalized=False, single_word=True)),
        wordpiece(normalizer=normalizers.BertNormalizer(lowercase=False, clean_text=False)),
        wordpiece(normalizer=normalizers.BertNormalizer(strip_accents=False)),
        wordpiece(continuing_subword_prefix="a"),
        wordpiece(max_input_chars_per_word=2),
    ],
    ids=[
        "bert", "space in a token", "line end in a token", "no spaces", "spaces inside",
        "added words", "added marks", "a mark that takes the space", "a mark between spaces",
        "upper case", "accents", "another prefix", "short words",
    ],
)  # fmt: skip
def test_any_tokenizer_gives_what_its_library_gives(tokenizer):
    ours = TextTokenizer(tokenizer.to_str().encode(), None)
    texts = ["a b", "a\nb", "ab a", "a  b", "zz ab", "AB aBá", "a[X]b [X][X][x]", "ab [SEP]aba b"]
    for text in [*texts, "a\tb\x07a\r\nb", "á ab", "", "[UNK]a"]:
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
