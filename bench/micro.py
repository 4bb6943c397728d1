"""Kernels alone, each against the best that was at hand without it, in alternating runs.

Thread CPU time of one call, data in cache as it is after many calls. NumPy runs on one thread.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import model2vec
import numpy as np

from bench.corpus import Corpus
from bench.figures import summarize
from brain_daemon import embedding
from brain_daemon._ext import distance, ppr, rrf
from brain_daemon._ext.bm25 import Postings, topk_bm25
from brain_daemon._ext.vocabulary import Vocabulary
from brain_daemon.embedding.model import StaticModel
from brain_daemon.index.snapshot import ForwardLists, joined_terms
from brain_daemon.store import fulltext
from brain_daemon.text.analyzer import Analyzer

ROUNDS = 25
CALLS = 20  # of a call too short for the clock
DEPTH = 100
DIM = 256
N_DOCUMENTS = 10_000


def measure_kernels(corpus: Corpus) -> dict[str, Any]:
    """Give for each kernel its time, the baseline's, and the ratio of minima and of medians."""
    results: dict[str, Any] = {}
    results |= _vectors(10_000) | _vectors(100_000)
    results["bm25 10k / FTS5 bm25()"] = _lexical(corpus)
    results["ppr 10k / numpy power iteration"] = _graph()
    results["embed query / model2vec encode"] = _embedding(corpus)
    results["rrf 3 x 100 / plain Python"] = _fusion()
    return results


def _compare(ours: Callable[[], Any], theirs: Callable[[], Any], calls: int = 1) -> dict[str, Any]:
    """Time both; each makes ``calls`` calls and the figures are of one."""
    ours()
    theirs()
    a, b = [], []
    for _ in range(ROUNDS):
        a.append(_microseconds(ours) / calls)
        b.append(_microseconds(theirs) / calls)
    ours_us, theirs_us = summarize(a, "us", 2), summarize(b, "us", 2)
    return {
        "ours": ours_us,
        "baseline": theirs_us,
        "ratio_of_minima": round(theirs_us["min"] / ours_us["min"], 2),
        "ratio_of_medians": round(theirs_us["median"] / ours_us["median"], 2),
    }


def _microseconds(call: Callable[[], Any]) -> float:
    started = time.thread_time_ns()
    call()
    return (time.thread_time_ns() - started) / 1e3


def _vectors(n_rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    floats = rng.standard_normal((n_rows, DIM), np.float32)
    floats /= np.linalg.norm(floats, axis=1, keepdims=True)
    scales = (np.abs(floats).max(axis=1) / 127).astype(np.float32)
    matrix = np.rint(floats / scales[:, None]).astype(np.int8)
    bits = distance.pack_bits(matrix)
    query = floats[0] + 0.05 * rng.standard_normal(DIM, np.float32)
    quantized, scale = distance.quantize_int8(query)

    def by_numpy() -> Any:
        scores = floats @ query
        best = np.argpartition(scores, -DEPTH)[-DEPTH:]
        return best[np.argsort(-scores[best])]

    def exact() -> Any:
        return distance.topk_int8(matrix, scales, quantized, scale, DEPTH)

    def by_bits() -> Any:
        return distance.topk_bits(bits, matrix, scales, quantized, scale, DEPTH, 4 * DEPTH)

    size = f"{n_rows // 1000}k"
    return {
        f"int8 scan {size} / numpy float32": _compare(exact, by_numpy),
        f"bit scan {size} / numpy float32": _compare(by_bits, by_numpy),
    }


def _lexical(corpus: Corpus) -> dict[str, Any]:
    analyzer = Analyzer()
    vocabulary = Vocabulary()
    lists = ForwardLists(vocabulary, 0)
    conn = apsw.Connection(":memory:")
    fulltext.create(conn)
    lengths = []
    with conn:
        for number, document in enumerate(corpus.documents(0, N_DOCUMENTS), 1):
            terms = analyzer.index(document.title, document.text)
            conn.execute(fulltext.INSERT, (number, terms.title, terms.body, terms.extra))
            lengths.append(lists.add(joined_terms(terms)))
    postings = lists.append_to(Postings())
    length = np.array(lengths, np.int32)
    alive = np.ones(N_DOCUMENTS, np.uint8)
    questions = [analyzer.query(q) for q in corpus.questions(40, N_DOCUMENTS)]
    ids = [vocabulary.lookup(terms.joined) for terms in questions]
    expressions = [fulltext.match_any(terms.terms) for terms in questions]
    mean = float(length.mean())

    def by_kernel() -> None:
        for term_ids in ids:
            topk_bm25(postings, term_ids, length, alive, None, N_DOCUMENTS, mean, DEPTH)

    def by_fts5() -> None:
        for expression in expressions:
            fulltext.rank_bm25(conn, expression, DEPTH)

    return _compare(by_kernel, by_fts5, len(questions))


def _graph() -> dict[str, Any]:
    """Passages that name three entities each, popular ones more often."""
    rng = np.random.default_rng(2)
    n_entities, degree = N_DOCUMENTS // 2, 3
    rows = np.repeat(np.arange(N_DOCUMENTS, dtype=np.int32), degree)
    entities = (n_entities ** rng.random(len(rows))).astype(np.int32) - 1
    pairs = np.unique(np.stack((2 * rows, 2 * entities + 1), axis=1), axis=0).astype(np.int32)
    sources = np.concatenate((pairs[:, 0], pairs[:, 1]))
    targets = np.concatenate((pairs[:, 1], pairs[:, 0]))
    weights = np.ones(len(sources), np.float32)
    graph = ppr.Graph().append(sources, targets, weights, np.full(len(sources), -1, np.int32))
    factors = np.ones(2 * N_DOCUMENTS, np.float32)
    visible = np.ones(N_DOCUMENTS, np.uint8)
    seeds = 2 * rng.choice(N_DOCUMENTS, 5, replace=False).astype(np.int32)
    seed_weights = np.full(5, 0.2)
    share = 1.0 / np.bincount(sources, minlength=2 * N_DOCUMENTS)[sources]

    def by_push() -> Any:
        return ppr.topk_ppr(
            graph, seeds, seed_weights, factors, visible, 0.5, 1e-5, DEPTH, 1_000_000
        )

    def by_numpy() -> Any:
        restart = np.zeros(2 * N_DOCUMENTS)
        restart[seeds] = 0.5 * seed_weights
        scores = restart
        while True:
            walked = np.bincount(targets, scores[sources] * share, minlength=2 * N_DOCUMENTS)
            following = restart + 0.5 * walked
            if np.abs(following - scores).sum() < 1e-6:
                break
            scores = following
        passages = scores[::2]
        best = np.argpartition(passages, -DEPTH)[-DEPTH:]
        return best[np.argsort(-passages[best])]

    return _compare(by_push, by_numpy)


def _embedding(corpus: Corpus) -> dict[str, Any]:
    ours = StaticModel.load()
    theirs = model2vec.StaticModel.from_pretrained(
        str(Path(embedding.__file__).with_name("default"))
    )
    questions = corpus.questions(40, N_DOCUMENTS)

    def by_kernel() -> None:
        for question in questions:
            ours.embed(question)

    def by_model2vec() -> None:
        for question in questions:
            theirs.encode(question)

    return _compare(by_kernel, by_model2vec, len(questions))


def _fusion() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    rankings = [rng.permutation(300)[:DEPTH].astype(np.int32) for _ in range(3)]
    lists = [ranking.tolist() for ranking in rankings]

    def by_kernel() -> None:
        for _ in range(CALLS):
            rrf.fuse(rankings, 5, 60)

    def by_python() -> None:
        for _ in range(CALLS):
            scores: dict[int, float] = {}
            for ranking in lists:
                for rank, row in enumerate(ranking, 1):
                    scores[row] = scores.get(row, 0.0) + 1.0 / (60 + rank)
            sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:5]

    return _compare(by_kernel, by_python, CALLS)
