"""Text to token ids, as a model2vec model wants them: cut to length, unknown tokens left out.

Here: the tokenizer file and what the format does around it; how text becomes plain words. Not here:
reading words by pieces (``_ext``), the table (``embedding.model``).
"""

import json
import os
import re
import unicodedata
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from brain_daemon._ext.wordpiece import WordPiece

# One text at a time is too little for the library's own thread pool, and forking with one warns.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

_CACHE_ENTRIES = 5_000
_CACHED_CHARS = 40  # longer words hardly ever repeat
_PREFIX = "##"  # of a piece that continues a word
_UNCASED = {
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
_IDEOGRAPHS = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f"
    "\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f]"
)

Ids = npt.NDArray[np.int32]


class TextTokenizer:
    """The tokenizer of a static model. Thread-safe under the GIL.

    A BERT tokenizer is read from its file and carried out here: ASCII text by the kernel alone,
    other words by their normal form, of which at most 5,000 are remembered. The tokenizers library,
    which takes ten times the memory, is asked only for characters that came to Unicode later, and
    for other kinds of tokenizers.

    Parameters
    ----------
    data : bytes
        Content of a tokenizer.json.
    max_length : int or None
        Tokens of a text that count; None for all.

    Attributes
    ----------
    vocabulary_size : int
        Number of tokens.

    Raises
    ------
    Exception
        From the tokenizers library, which has no class of its own, if `data` is not one.
    """

    def __init__(self, data: bytes, max_length: int | None) -> None:
        reading = _Bert.read(data) or _Library(data)
        self._encode = reading.encode
        self._unknown_id = reading.unknown_id
        self._max_tokens = max_length
        self.vocabulary_size = len(reading.token_lengths)
        # The format cuts the text before tokenizing it, assuming tokens of median length.
        median = int(np.median(reading.token_lengths))
        self._max_chars = None if max_length is None else max_length * median

    def ids(self, text: str) -> Ids:
        """Token ids of any text, in its order: an int32 array of shape (n_tokens,)."""
        ids = self._encoded(text[: self._max_chars])[: self._max_tokens]
        return ids if self._unknown_id is None else ids[ids != self._unknown_id]

    def count(self, text: str) -> int:
        """Count the tokens of a text, those beyond the model's length and unknown ones too."""
        return len(self._encoded(text))

    def _encoded(self, text: str) -> Ids:
        try:
            return self._encode(text)
        except (UnicodeEncodeError, TypeError):  # lone surrogates
            return self._encode(text.encode("utf-8", "ignore").decode())


class _Library:
    """The tokenizer as its own library carries it out."""

    def __init__(self, data: bytes) -> None:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_buffer(data)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._encode_batch = tokenizer.encode_batch_fast
        self.token_lengths = [len(token) for token in tokenizer.get_vocab()]
        model = tokenizer.model
        if not hasattr(model, "unk_token"):  # Unigram has the id only, and only in the file
            self.unknown_id = json.loads(data)["model"].get("unk_id")
        else:
            unknown = model.unk_token
            self.unknown_id = None if unknown is None else tokenizer.token_to_id(unknown)

    def encode(self, text: str) -> Ids:
        (encoding,) = self._encode_batch([text], add_special_tokens=False)
        return np.array(encoding.ids, np.int32)


class _Bert:
    """A BERT tokenizer.

    It never looks beyond a space, nor in ASCII text beyond a run of letters and digits or a
    punctuation mark, so the ids of a text are those of such units one after the other.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        model, normalizer = spec["model"], spec["normalizer"]
        added = {token["content"]: token["id"] for token in spec["added_tokens"]}
        vocabulary = {**model["vocab"], **added}
        self.token_lengths = list(map(len, vocabulary))
        self.unknown_id: int = vocabulary[model["unk_token"]]
        self._pieces = WordPiece(
            model["vocab"],
            self.unknown_id,
            model["max_input_chars_per_word"],
            normalizer["lowercase"],
        )
        self._normalizer = {key: value for key, value in normalizer.items() if key != "type"}
        self._is_uncased = self._normalizer == _UNCASED
        self._added = added
        # Of two that begin at one place the longer one.
        contents = sorted(added, key=len, reverse=True)
        self._added_tokens = re.compile(f"({'|'.join(map(re.escape, contents))})")
        self._cache: dict[str, Ids] = {}

    @classmethod
    def read(cls, data: bytes) -> "_Bert | None":
        """Read the file, if it has a BERT tokenizer without any speciality."""
        spec = json.loads(data)
        parts = [spec.get(name) or {} for name in ("normalizer", "pre_tokenizer", "model")]
        kinds = tuple(part.get("type") for part in parts)
        model = parts[-1]
        is_plain = (
            kinds == ("BertNormalizer", "BertPreTokenizer", "WordPiece")
            and model["continuing_subword_prefix"] == _PREFIX
            and model["unk_token"] in model["vocab"]
            and 1 <= model["max_input_chars_per_word"] <= 1024
            and not any(
                token[trait] or not token["content"]
                for token in spec["added_tokens"]
                for trait in ("single_word", "normalized")
            )
        )
        return cls(spec) if is_plain else None

    def encode(self, text: str) -> Ids:
        added = self._added
        if not any(token in text for token in added):
            return self._words(text)
        parts = self._added_tokens.split(text)
        ids = [np.array([added[p]], np.int32) if p in added else self._words(p) for p in parts]
        return np.concatenate(ids)

    def _words(self, text: str) -> Ids:
        text = text.replace("\n", " ")
        if text.isascii() and text.isprintable():
            return self._pieces.encode(text)
        text = text.replace("\t", " ").replace("\r", " ")
        parts: list[Ids] = []
        for is_plain, words in groupby(text.split(" "), _is_plain):
            if is_plain:
                parts.append(self._pieces.encode(" ".join(words)))
            else:
                parts += map(self._word, words)
        return np.concatenate(parts)

    def _word(self, word: str) -> Ids:
        """Token ids of a word that is not plain: by its normal form."""
        found = self._cache.get(word)
        if found is None:
            found = self._pieces.encode(" ".join(self._normalized(word)))
            if len(word) <= _CACHED_CHARS:
                if len(self._cache) >= _CACHE_ENTRIES:  # cheaper than a usage order
                    self._cache.clear()
                self._cache[word] = found.copy()
        return found

    def _normalized(self, word: str) -> list[str]:
        if self._is_uncased and all(map(_is_settled, word)):
            return _uncased(word)
        # The library is big: a process that meets no such word does without.
        from tokenizers.normalizers import BertNormalizer
        from tokenizers.pre_tokenizers import BertPreTokenizer

        normal = BertNormalizer(**self._normalizer).normalize_str(word)
        return [part for part, _ in BertPreTokenizer().pre_tokenize_str(normal)]


def _is_plain(word: str) -> bool:
    return word.isascii() and word.isprintable()


def _is_settled(char: str) -> bool:
    """Whether every version of Unicode that a library may have says the same of a character.

    A symbol that came later is nothing to an older version: neither of the two changes it.
    """
    if char.isascii():
        return char.isprintable()
    first, now = unicodedata.ucd_3_2_0.category(char), unicodedata.category(char)
    if first == "Cn":
        return now == "So"
    return char == "\xad" or (_matter(first) == _matter(now) and char != "\x85")


def _matter(category: str) -> str:
    """What BERT asks of a character: whether it is punctuation, an accent or no character."""
    return category if category == "Mn" else category[0] if category[0] in "PC" else ""


def _uncased(word: str) -> list[str]:
    """Give what `_UNCASED` and BERT's splitting make of settled characters."""
    kept = "".join([_spaced(char) for char in word])
    bare = [c for c in unicodedata.normalize("NFD", kept) if unicodedata.category(c) != "Mn"]
    return "".join([_parted(c) for char in bare for c in char.lower()]).split()


def _spaced(char: str) -> str:
    if char.isspace():
        return " "
    if char == "\ufffd" or unicodedata.category(char)[0] == "C":
        return ""
    return f" {char} " if _IDEOGRAPHS.match(char) else char


def _parted(char: str) -> str:
    is_mark = unicodedata.category(char)[0] == "P" or (char.isascii() and not char.isalnum())
    return f" {char} " if is_mark else char
