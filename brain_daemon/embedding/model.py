"""Static embedding models in the format of model2vec: a tokenizer and a table, no network.

Here: loading a model from a folder, tokens to vector. Not here: text to tokens
(``embedding.tokenizer``), comparing vectors (``_ext``), or
deciding what to do when a store was made by another model (``store``). Layer: above ``_ext``.
"""

import json
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from brain_daemon._ext import distance
from brain_daemon.embedding.tokenizer import TextTokenizer
from brain_daemon.errors import BadRequest

_DEFAULT_FOLDER = Path(__file__).with_name("default")
_DEFAULT_NAME = "static-minilm-256"
_DEFAULT_MAX_LENGTH = 512  # of the format, in tokens, where config.json says nothing
_FILES = ("config.json", "model.safetensors", "tokenizer.json")
_CACHED_LENGTHS = 20_000
_CACHED_CHARS = 40  # longer words hardly ever repeat
_hub_name = re.compile(r"[\w.-]+/[\w.-]+")


class StaticModel:
    """A table of token vectors; a text is the mean of its tokens' rows, L2-normalised.

    Gives what ``model2vec.StaticModel.encode(text, normalize=True)`` gives, within 1e-6.
    Immutable and thread-safe. Use ``load``.

    Attributes
    ----------
    dim : int
        Length of a vector, a multiple of 64.
    name : str
        For people.
    fingerprint : str
        SHA-256 in hex of all that decides the vectors: two models with the same give the same.
    count_tokens : callable
        Text to the number of its tokens, uncut.

    References
    ----------
    Tulkens and van Dongen (2024), Model2Vec.
    """

    def __init__(self, folder: Path, name: str) -> None:
        config_path, table_path, tokenizer_path = (folder / file for file in _FILES)
        try:
            config = json.loads(config_path.read_bytes())
            tokenizer_json = tokenizer_path.read_bytes()
            table, weights, mapping = _read_tensors(table_path)
            if not isinstance(config, dict):
                raise ValueError("config.json is not a JSON object")
            max_length = config.get("max_length", _DEFAULT_MAX_LENGTH)
            if max_length is not None and (not isinstance(max_length, int) or max_length < 1):
                raise ValueError(f"max_length is {max_length!r}, not a positive integer or null")
            tokenizer = TextTokenizer(tokenizer_json, max_length)
            _check_shapes(table, weights, mapping, tokenizer.vocabulary_size)
        except OSError as error:
            raise BadRequest(
                f"cannot read the model in {folder}: {error}; give a folder that holds "
                f"{', '.join(_FILES)}, or no model for the packaged one"
            ) from error
        except Exception as error:  # tokenizers raises bare Exception
            raise BadRequest(f"{folder} has no model that can be used: {error}") from error

        self.name = name
        self.dim: int = table.shape[1]
        self._table = table
        self._weights = weights
        self._mapping = mapping
        self._ids = tokenizer.ids
        self._lengths: dict[str, float] = {}
        self.count_tokens = tokenizer.count

        digest = sha256(repr((table.shape, table.dtype.str, max_length)).encode())
        for part in (table, weights, mapping):
            digest.update(b"" if part is None else part.data)
        digest.update(tokenizer_json)
        self.fingerprint = digest.hexdigest()

    @classmethod
    def load(cls, path: Path | str | None = None) -> "StaticModel":
        """Load a model.

        Parameters
        ----------
        path : Path or str, optional
            A folder with config.json, model.safetensors and tokenizer.json; or, if there is no such
            folder, the name of one on the Hugging Face hub (``owner/name``), which is downloaded
            unless it is there already. None: the packaged default.

        Raises
        ------
        BadRequest
            Naming what is missing or wrong.
        """
        if path is None:
            return cls(_DEFAULT_FOLDER, _DEFAULT_NAME)
        folder = Path(path)
        if not folder.exists() and _hub_name.fullmatch(str(path)):
            return cls(_fetch(str(path)), str(path))
        return cls(folder, folder.resolve().name)

    def embed(self, text: str) -> npt.NDArray[np.float32]:
        """Embed a text.

        Parameters
        ----------
        text : str
            Any text; what goes beyond the model's maximum length is ignored.

        Returns
        -------
        float32 array, shape (dim,)
            Of unit length, or zeros if no token of the text is known.
        """
        return distance.pool(*self._tokens(text))

    def embed_many(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Embed texts, in their order: a float32 array of shape (len(texts), dim)."""
        vectors = np.empty((len(texts), self.dim), np.float32)
        for index, text in enumerate(texts):
            vectors[index] = self.embed(text)
        return vectors

    def length(self, word: str) -> float:
        """Give the length of a word's vector before it is normalised, 0 for an unknown one.

        How much the word counts in the mean of a text. Models in which frequent words count for
        little have this from their training, or from weights by frequency (SIF).

        References
        ----------
        Arora, Liang and Ma, "A simple but tough-to-beat baseline for sentence embeddings", 2017.
        """
        length = self._lengths.get(word)
        if length is None:
            length = distance.length(*self._tokens(word))
            if len(self._lengths) >= _CACHED_LENGTHS:
                self._lengths.clear()
            if len(word) <= _CACHED_CHARS:
                self._lengths[word] = length
        return length

    def quantized(self, text: str) -> tuple[npt.NDArray[np.int8], float]:
        """Embed a text in eight bits: an int8 array of shape (dim,), and its scale.

        Vector times scale is the embedding; the scale of a zero vector is 0.
        """
        return distance.quantize_int8(self.embed(text))

    def _tokens(self, text: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Any]:
        """Give a table, the rows of a text's tokens in it, and the weights by row, if any."""
        ids = self._ids(text)
        if self._mapping is None:
            return self._table, ids, self._weights
        rows = self._mapping[ids]
        if self._weights is None:
            return self._table, rows, None
        # The weights belong to tokens, the rows to groups of them.
        places = np.arange(len(ids), dtype=np.int32)
        return self._table[rows], places, self._weights[ids]


def _read_tensors(path: Path) -> tuple[npt.NDArray[Any], Any, Any]:
    """Read table, weights and mapping; copies, so that the file may change under the process."""
    try:
        with safe_open(path, framework="numpy") as file:
            names = file.keys()
            if "embeddings" not in names:
                raise ValueError("model.safetensors has no tensor named embeddings")
            table = file.get_tensor("embeddings")
            weights = file.get_tensor("weights") if "weights" in names else None
            mapping = file.get_tensor("mapping") if "mapping" in names else None
    except SafetensorError as error:
        raise ValueError(f"model.safetensors: {error}") from error
    if table.dtype != np.int8:
        table = table.astype(np.float32, copy=False)
    if weights is not None:
        weights = weights.astype(np.float32, copy=False)
    if mapping is not None:
        mapping = mapping.astype(np.int32, copy=False)
    return table, weights, mapping


def _check_shapes(
    table: npt.NDArray[Any], weights: Any, mapping: Any, vocabulary_size: int
) -> None:
    """Raise ValueError unless every token has a row, and a weight if there are any."""
    if table.ndim != 2 or table.shape[1] == 0 or table.shape[1] % 64:
        raise ValueError(f"the table's shape is {table.shape}; its width must be a multiple of 64")
    if mapping is None and len(table) != vocabulary_size:
        raise ValueError(f"{len(table)} table rows for {vocabulary_size} tokens")
    for name, values in (("weights", weights), ("mapping", mapping)):
        if values is not None and values.shape != (vocabulary_size,):
            raise ValueError(f"{name} of shape {values.shape} for {vocabulary_size} tokens")
    if mapping is not None and not 0 <= mapping.min() <= mapping.max() < len(table):
        raise ValueError("mapping names rows that the table does not have")


def _fetch(name: str) -> Path:
    """Find a model of the Hugging Face hub in the local cache, or download it."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError
    except ImportError as error:
        raise BadRequest(
            f"there is no folder {name}; to fetch a model of that name from the Hugging Face hub, "
            "pip install 'brain-daemon[hub]'",
            model=name,
        ) from error
    try:
        folder = Path(snapshot_download(name, local_files_only=True))
        if all((folder / file).is_file() for file in _FILES):
            return folder
    except LocalEntryNotFoundError:
        pass
    try:
        return Path(snapshot_download(name, allow_patterns=list(_FILES)))
    except Exception as error:  # of the HTTP client or the hub: many unrelated classes
        raise BadRequest(f"cannot fetch the model {name} from the hub: {error}") from error
