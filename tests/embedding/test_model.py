"""Static models against model2vec itself, on real files."""

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import model2vec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import brain_daemon.embedding.model
from brain_daemon.embedding.model import StaticModel
from brain_daemon.errors import BadRequest

DEFAULT = Path(brain_daemon.embedding.model.__file__).with_name("default")
TEXTS = [
    "",
    " ",
    "\n\t ",
    "When did Ana move to Lisbon?",
    "🎉🎉",
    "他喜欢成语接龙",
    "naïve Straße ǅ ﬁ İstanbul e\u0301 \u0301x",
    "[UNK] [PAD]x[UNK]y",
    "a\x00b\x1cc\x85d\u2028e\u00a0f\u3000g\r\nh\ti",
    "zero\u200bwidth so\u00adft",
    "x" * 5_000,
    "word " * 5_000,
    "unaffable qzxv🎉 " * 900,
    "C++ foo_bar.baz --error-on-warnings https://example.org/a?b=c",
]
words = st.sampled_from(
    ["the", "Memory", "qzxv", "🎉", "don't", "é", "e\u0301", "成语", "\u0301", "Ω"]
)
spaces = st.sampled_from([" ", "\n", "  ", "\t", "\r\n", "\x1c", "\u2028", "\u00a0", "", "\x00"])
texts = st.one_of(st.text(), st.lists(st.one_of(words, spaces)).map("".join))


@pytest.fixture(scope="module")
def model() -> StaticModel:
    return StaticModel.load()


@pytest.fixture(scope="module")
def oracle() -> model2vec.StaticModel:
    return model2vec.StaticModel.from_pretrained(DEFAULT)


def close(ours: np.ndarray, theirs: np.ndarray) -> bool:
    return ours.dtype == np.float32 and np.allclose(ours, theirs, rtol=0, atol=1e-6)


@given(texts)
@settings(max_examples=500)
@example("Σ ΑΣ Σ")
def test_any_text_embeds_as_in_model2vec(model, oracle, text):
    assert close(model.embed(text), oracle.encode(text))


@pytest.mark.parametrize("text", TEXTS)
def test_chosen_texts_embed_as_in_model2vec(model, oracle, text):
    assert close(model.embed(text), oracle.encode(text))
    assert close(model.embed(text), oracle.encode(text)), "again, with the words remembered"


def test_many_texts_are_the_single_ones_in_order(model, oracle):
    vectors = model.embed_many(TEXTS)
    assert vectors.shape == (len(TEXTS), model.dim)
    assert close(vectors, oracle.encode(TEXTS))
    assert model.embed_many([]).shape == (0, model.dim)


def test_vectors_are_of_unit_length_or_zero(model):
    lengths = np.linalg.norm(model.embed_many(TEXTS), axis=1)
    assert set(lengths.round(5)) == {0.0, 1.0}


@pytest.mark.parametrize("text", ["", "   ", "\x00", "\ud800"])
def test_a_text_without_known_tokens_is_the_zero_vector(model, text):
    assert not model.embed(text).any()
    vector, scale = model.quantized(text)
    assert not vector.any()
    assert scale == 0


def test_lone_surrogates_are_left_out(model):
    assert (model.embed("Ana\ud800 moved \udfff") == model.embed("Ana moved ")).all()


def test_quantized_is_the_embedding_in_eight_bits(model):
    vector, scale = model.quantized("Ana moved to Lisbon")
    assert vector.dtype == np.int8
    assert abs(vector).max() == 127
    assert np.allclose(
        vector * np.float32(scale), model.embed("Ana moved to Lisbon"), atol=scale / 2
    )


def test_the_table_stays_in_eight_bits(model):
    assert model._table.dtype == np.int8


def variant(folder: Path, config: dict[str, Any] | None = None, **tensors: Any) -> Path:
    """Copy the default model with changed configuration and tensors."""
    shutil.copytree(DEFAULT, folder, ignore=shutil.ignore_patterns("*.py", "*.md", "__pycache__"))
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **(config or {})}))
    if tensors:
        stored = {**load_file(folder / "model.safetensors"), **tensors}
        save_file(
            {
                key: np.ascontiguousarray(value)
                for key, value in stored.items()
                if value is not None
            },
            folder / "model.safetensors",
        )
    return folder


TABLE = load_file(DEFAULT / "model.safetensors")["embeddings"]
WEIGHTS = (np.arange(len(TABLE)) % 7 / 3).astype(np.float32)
MAPPING = (np.arange(len(TABLE), dtype=np.int64) * 31) % 1_000


@pytest.mark.parametrize(
    ("config", "tensors"),
    [
        ({}, {"weights": WEIGHTS}),
        ({}, {"weights": WEIGHTS.astype(np.float64)}),
        ({}, {"embeddings": TABLE[:1_000], "mapping": MAPPING}),
        ({}, {"embeddings": TABLE[:1_000], "mapping": MAPPING, "weights": WEIGHTS}),
        ({}, {"embeddings": TABLE.astype(np.float32) / 50}),
        ({}, {"embeddings": TABLE[:, :64], "weights": WEIGHTS}),
        ({"max_length": 5}, {}),
        ({"max_length": None}, {}),
    ],
)
def test_every_form_of_the_format_embeds_as_in_model2vec(tmp_path, config, tensors):
    folder = variant(tmp_path / "model", config, **tensors)
    ours, theirs = StaticModel.load(folder), model2vec.StaticModel.from_pretrained(folder)
    assert ours.dim == theirs.dim
    for text in TEXTS:
        assert close(ours.embed(text), theirs.encode(text))


@pytest.mark.parametrize(
    "tensors",
    [
        {},
        {"weights": WEIGHTS},
        {"embeddings": TABLE[:1_000], "mapping": MAPPING, "weights": WEIGHTS},
        {"embeddings": TABLE.astype(np.float32) / 50},
    ],
)
def test_a_words_length_is_what_it_adds_to_a_text(tmp_path, tensors):
    folder = variant(tmp_path / "model", **tensors)
    ours, theirs = StaticModel.load(folder), model2vec.StaticModel.from_pretrained(folder)
    for word in ("harbour", "unaffable", "DEC-0054", "é"):
        mean = theirs.encode(word, normalize=False)
        n_tokens = len(theirs.tokenize([word])[0])
        assert ours.length(word) == pytest.approx(np.linalg.norm(mean) * n_tokens, rel=1e-5)
        assert ours.length(word) == ours.length(word)  # the second from the cache
    assert ours.length("🎉") == ours.length("") == 0.0


def test_rare_words_are_longer_than_frequent_ones(model):
    assert max(map(model.length, ["how", "find", "make"])) < model.length("harbour")


def test_lengths_are_remembered_within_bounds(model, monkeypatch):
    monkeypatch.setattr(brain_daemon.embedding.model, "_CACHED_LENGTHS", 3)
    expected = [model.length(f"word{n}") for n in range(9)]
    assert [model.length(f"word{n}") for n in range(9)] == expected
    assert model.length("x" * 100) > 0
    assert len(model._lengths) <= 3
    assert "x" * 100 not in model._lengths


def test_half_precision_is_computed_in_single(tmp_path):
    table = (TABLE / 50).astype(np.float16)
    half = StaticModel.load(variant(tmp_path / "half", embeddings=table))
    single = StaticModel.load(variant(tmp_path / "single", embeddings=table.astype(np.float32)))
    assert (half.embed_many(TEXTS) == single.embed_many(TEXTS)).all()


def test_vectors_are_normalised_whatever_the_configuration_says(tmp_path):
    folder = variant(tmp_path / "model", {"normalize": False})
    theirs = model2vec.StaticModel.from_pretrained(folder)
    assert close(StaticModel.load(folder).embed("Ana"), theirs.encode("Ana", normalize=True))


def test_the_fingerprint_is_of_what_decides_the_vectors(tmp_path, model):
    assert len(model.fingerprint) == 64
    same = StaticModel.load(variant(tmp_path / "copy", {"name": "another"}))
    assert same.fingerprint == model.fingerprint
    assert (same.name, model.name) == ("copy", "static-minilm-256")
    table = TABLE.copy()
    table[5, 5] ^= 1
    tokenizer = variant(tmp_path / "tokenizer")
    path = tokenizer / "tokenizer.json"
    path.write_text(path.read_text().replace('"lowercase":true', '"lowercase":false'))
    others = [
        variant(tmp_path / "table", embeddings=table),
        variant(tmp_path / "weights", weights=WEIGHTS),
        variant(tmp_path / "length", {"max_length": 100}),
        tokenizer,
    ]
    prints = {StaticModel.load(folder).fingerprint for folder in others}
    assert len(prints - {model.fingerprint}) == len(others)


@pytest.mark.parametrize(
    ("config", "tensors", "message"),
    [
        ({}, {"embeddings": TABLE[:, :100]}, "multiple of 64"),
        ({}, {"embeddings": TABLE[:, :0]}, "multiple of 64"),
        ({}, {"embeddings": TABLE[:100]}, "100 table rows for 29525 tokens"),
        ({}, {"embeddings": None, "other": TABLE[:2]}, "no tensor named embeddings"),
        ({}, {"weights": WEIGHTS[:9]}, "weights of shape"),
        ({}, {"embeddings": TABLE[:999], "mapping": MAPPING}, "mapping names rows"),
        ({"max_length": "many"}, {}, "max_length is 'many'"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(tmp_path, config, tensors, message):
    with pytest.raises(BadRequest, match=message):
        StaticModel.load(variant(tmp_path / "model", config, **tensors))


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"\xff" * 100])
def test_a_missing_or_damaged_file_is_refused(tmp_path, file, content):
    folder = variant(tmp_path / "model")
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_bytes(content)
    with pytest.raises(BadRequest, match="model"):
        StaticModel.load(folder)


def test_an_absent_folder_is_refused(tmp_path):
    with pytest.raises(BadRequest, match=r"nowhere.*give a folder that holds config\.json"):
        StaticModel.load(tmp_path / "nowhere")


def test_threads_share_a_model(model):
    expected = model.embed_many(TEXTS)
    wrong: list[int] = []

    def work(offset: int) -> None:
        for turn in range(200):
            index = (turn + offset) % len(TEXTS)
            if not (model.embed(TEXTS[index]) == expected[index]).all():
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(offset,)) for offset in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def run(program: str, **environment: str) -> str:
    """Run a program in a process of its own; a warning is an error there too."""
    inherited = {key: value for key, value in os.environ.items() if key != "TOKENIZERS_PARALLELISM"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def test_embedding_starts_no_threads_and_forks_quietly():
    count = "len(os.listdir('/proc/self/task'))"
    assert (
        run(
            "import os, numpy\n"
            f"before = {count}\n"
            "from brain_daemon.embedding.model import StaticModel\n"
            "model = StaticModel.load()\n"
            "model.embed_many(['many words ' * 100] * 100)\n"
            f"print({count} - before, flush=True)\n"
            "pid = os.fork()\n"
            "if pid == 0: os._exit(0 if model.embed('and after').any() else 1)\n"
            "assert os.waitpid(pid, 0)[1] == 0"
        )
        == "0\n"
    )


LOAD_BY_NAME = """
import sys
{before}
from brain_daemon.embedding.model import StaticModel
from brain_daemon.errors import BadRequest
try:
    model = StaticModel.load("owner/small-model")
    print(model.name, model.embed("Ana").any())
except BadRequest as error:
    print(error.message)
"""


def test_a_hub_name_without_the_extra_says_what_to_install():
    said = run(LOAD_BY_NAME.format(before="sys.modules['huggingface_hub'] = None"))
    assert "owner/small-model" in said
    assert "brain-daemon[hub]" in said


def test_a_hub_name_in_the_cache_needs_no_network(tmp_path):
    repository = tmp_path / "hub" / "models--owner--small-model"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0" * 40)
    (repository / "snapshots").mkdir()
    variant(repository / "snapshots" / ("0" * 40))
    said = run(LOAD_BY_NAME.format(before=""), HF_HOME=str(tmp_path), HF_ENDPOINT="http://[::1]:9")
    assert said == "owner/small-model True\n"


def test_a_hub_name_that_cannot_be_fetched_is_refused(tmp_path):
    said = run(LOAD_BY_NAME.format(before=""), HF_HOME=str(tmp_path), HF_HUB_OFFLINE="1")
    assert said.startswith("cannot fetch the model owner/small-model")
