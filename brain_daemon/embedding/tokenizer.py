"""Text to token ids, as a model2vec model wants them: cut to length, unknown tokens left out.

Here: the tokenizer file and what the format does around it, and a cache of words. Not here: the
table (``embedding.model``).
"""

import json
import os
import re
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

# One text at a time is too little for the library's own thread pool, and forking with one warns.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

_ascii_units = re.compile(r"[0-9A-Za-z]+|[^0-9A-Za-z ]")

_CACHE_ENTRIES = 20_000
_CACHED_CHARS = 40  # longer words hardly ever repeat


class TextTokenizer:
    """The tokenizer of a static model. Thread-safe under the GIL.

    A BERT tokenizer never looks beyond a space, nor in ASCII text beyond a run of letters and
    digits or a punctuation mark, so the ids of a text are those of such units one after the other;
    of units seen before (at most 20,000, about 4 MB) they are remembered. Any other tokenizer gets
    the text as it is.

    Parameters
    ----------
    data : bytes
        Content of a tokenizer.json.
    max_length : int or None
        Tokens of a text that count; None for all.

    Raises
    ------
    Exception
        From the tokenizers library, which has no class of its own, if `data` is not one.
    """

    def __init__(self, data: bytes, max_length: int | None) -> None:
        tokenizer = Tokenizer.from_buffer(data)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.vocabulary_size: int = tokenizer.get_vocab_size()
        self._encode = tokenizer.encode_batch_fast
        self._unknown_id = _unknown_id(tokenizer, data)
        self._max_tokens = max_length
        # The format cuts the text before tokenizing it, assuming tokens of median length.
        self._max_chars = None if max_length is None else max_length * _median_length(tokenizer)
        self._by_word = _looks_at_words_only(tokenizer)
        self._lowers = self._by_word and tokenizer.normalizer.lowercase
        self._added = [t.content for t in tokenizer.get_added_tokens_decoder().values()]
        self._cache: dict[str, bytes] = {}  # word to its ids, int32

    def ids(self, text: str) -> npt.NDArray[np.int32]:
        """Token ids of any text, in its order: an int32 array of shape (n_tokens,)."""
        text = text[: self._max_chars]
        data = self._unit_ids(self._units(text)) if self._by_word else self._encoded([text])[0]
        ids = np.frombuffer(data, np.int32)[: self._max_tokens]
        return ids if self._unknown_id is None else ids[ids != self._unknown_id]

    def count(self, text: str) -> int:
        """Count the tokens of a text, those beyond the model's length and unknown ones too."""
        return len(self._encoded([text])[0]) // np.dtype(np.int32).itemsize

    def _units(self, text: str) -> list[str]:
        text = text.replace("\n", " ")
        if not (text.isascii() and text.isprintable()) or any(t in text for t in self._added):
            return text.split(" ")
        return _ascii_units.findall(text.lower() if self._lowers else text)

    def _unit_ids(self, words: list[str]) -> bytes:
        cache = self._cache
        found = list(map(cache.get, words))
        if None not in found:
            return b"".join(found)  # type: ignore[arg-type]
        absent = list({word for word, ids in zip(words, found, strict=True) if ids is None})
        fresh = dict(zip(absent, self._encoded(absent), strict=True))
        if len(cache) + len(fresh) > _CACHE_ENTRIES:  # cheaper than a usage order
            cache.clear()
        for word, data in fresh.items():
            if len(word) <= _CACHED_CHARS and len(cache) < _CACHE_ENTRIES:
                cache[word] = data
        return b"".join(
            [fresh[word] if ids is None else ids for word, ids in zip(words, found, strict=True)]
        )

    def _encoded(self, texts: Sequence[str]) -> list[bytes]:
        try:
            encodings = self._encode(texts, add_special_tokens=False)
        except (UnicodeEncodeError, TypeError):  # lone surrogates
            texts = [text.encode("utf-8", "ignore").decode() for text in texts]
            encodings = self._encode(texts, add_special_tokens=False)
        return [array("i", encoding.ids).tobytes() for encoding in encodings]


def _looks_at_words_only(tokenizer: Tokenizer) -> bool:
    """Whether spaces and line ends always part tokens, and nothing depends on what is beyond."""
    parts: tuple[Any, Any, Any] = tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.model
    kinds = tuple(type(part).__name__ for part in parts)
    added = tokenizer.get_added_tokens_decoder().values()
    return kinds == ("BertNormalizer", "BertPreTokenizer", "WordPiece") and not any(
        " " in token.content or "\n" in token.content for token in added
    )


def _median_length(tokenizer: Tokenizer) -> int:
    """Median number of characters of a token, rounded down.

    Asks for one token after the other where it can: the whole vocabulary as a dict takes four
    times as long, and 4 MB that the process keeps.
    """
    size = tokenizer.get_vocab_size()
    tokens = [token for index in range(size) if (token := tokenizer.id_to_token(index)) is not None]
    if len(tokens) != size:  # the ids have gaps
        tokens = list(tokenizer.get_vocab())
    return int(np.median([len(token) for token in tokens]))


def _unknown_id(tokenizer: Tokenizer, data: bytes) -> int | None:
    """Id of the token that stands for what the vocabulary lacks."""
    model = tokenizer.model
    if not hasattr(model, "unk_token"):  # Unigram has the id only, and only in the file
        return json.loads(data)["model"].get("unk_id")
    return None if model.unk_token is None else tokenizer.token_to_id(model.unk_token)
