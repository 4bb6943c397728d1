"""Vector kernels against NumPy and sqlite-vec, on every SIMD tier of this CPU."""

import ast
import os
import threading
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

import apsw
import numpy as np
import pytest
import sqlite_vec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from model2vec import StaticModel

from brain_daemon._ext import distance

PER_TIER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=distance.simd_tiers())
def tier(request: pytest.FixtureRequest) -> Iterator[str]:
    before = distance.simd_tier()
    distance.set_simd_tier(request.param)
    yield request.param
    distance.set_simd_tier(before)


def random_vectors(n_rows, dim=256, seed=0):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-127, 128, (n_rows, dim), dtype=np.int8)
    scales = rng.uniform(0.0005, 0.002, n_rows).astype(np.float32)
    query = rng.integers(-127, 128, dim, dtype=np.int8)
    return matrix, scales, query, 0.001


def exact_scores(matrix, scales, query, query_scale):
    dots = matrix.astype(np.int64) @ query.astype(np.int64)
    return dots.astype(np.float64) * scales.astype(np.float64) * query_scale


def best(scores, admitted, k):
    rows = np.flatnonzero(admitted)
    rows = rows[np.lexsort((rows, -scores[rows]))][:k].astype(np.int32)
    return rows, scores[rows]


def assert_same(result, expected):
    rows, scores = result
    assert rows.dtype == np.int32
    assert scores.dtype == np.float64
    np.testing.assert_array_equal(rows, expected[0])
    np.testing.assert_array_equal(scores, expected[1])


def read_only(*arrays):
    for array in arrays:
        array.flags.writeable = False


def test_tiers_are_listed_weakest_first():
    tiers = distance.simd_tiers()
    assert tiers[0] == "scalar"
    assert distance.simd_tier() == tiers[-1]
    with pytest.raises(ValueError, match="'mmx' is not one of scalar"):
        distance.set_simd_tier("mmx")


@pytest.mark.parametrize("k", [1, 7, 100, 1000, 10**9])
@pytest.mark.parametrize("n_rows", [1, 3, 127, 128, 129, 1000])
def test_topk_int8_is_exact(tier, n_rows, k):
    vectors = random_vectors(n_rows)
    read_only(*vectors[:3])
    scores = exact_scores(*vectors)
    assert_same(distance.topk_int8(*vectors, k), best(scores, np.ones(n_rows, bool), k))


@pytest.mark.parametrize("dim", [64, 128, 320, 1024])
def test_other_dimensions(tier, dim):
    vectors = random_vectors(300, dim)
    expected = best(exact_scores(*vectors), np.ones(300, bool), 20)
    assert_same(distance.topk_int8(*vectors, 20), expected)
    bits = distance.pack_bits(vectors[0])
    assert_same(distance.topk_bits(bits, *vectors, 20, 300), expected)


@PER_TIER
@given(data=st.data())
def test_topk_int8_on_any_bytes(tier, data):
    n_rows = data.draw(st.integers(0, 40))
    extremes = st.sampled_from([-128, -127, -1, 0, 1, 127]) | st.integers(-128, 127)
    matrix = data.draw(hnp.arrays(np.int8, (n_rows, 64), elements=extremes))
    query = data.draw(hnp.arrays(np.int8, 64, elements=extremes))
    scales = data.draw(hnp.arrays(np.float32, n_rows, elements=st.sampled_from([0, 0.25, 0.5])))
    mask = data.draw(hnp.arrays(np.uint8, n_rows, elements=st.integers(0, 2)))
    k = data.draw(st.integers(1, 50))
    scores = exact_scores(matrix, scales, query, 0.5)
    expected = best(scores, (mask != 0) & (scales != 0), k)
    assert_same(distance.topk_int8(matrix, scales, query, 0.5, k, mask), expected)
    bits = distance.pack_bits(matrix)
    found = distance.topk_bits(bits, matrix, scales, query, 0.5, k, max(n_rows, 1), mask)
    assert_same(found, expected)


@pytest.mark.parametrize("value", [-128, -127, 127])
@pytest.mark.parametrize("query_value", [-128, -127, 127])
def test_extreme_bytes_do_not_saturate(tier, value, query_value):
    dim = 65_536
    matrix = np.full((5, dim), value, np.int8)
    query = np.full(dim, query_value, np.int8)
    ones = np.ones(5, np.float32)
    _, scores = distance.topk_int8(matrix, ones, query, 1.0, 5)
    assert scores.tolist() == [float(dim * value * query_value)] * 5


def test_ties_ascend_by_row(tier):
    matrix = np.ones((700, 64), np.int8)
    scales = np.full(700, 0.5, np.float32)
    scales[::7] = 1
    query = np.ones(64, np.int8)
    rows, _ = distance.topk_int8(matrix, scales, query, 1.0, 150)
    assert rows.tolist() == [*range(0, 700, 7), *[r for r in range(700) if r % 7][:50]]
    bits = distance.pack_bits(matrix)
    rows, _ = distance.topk_bits(bits, matrix, scales, query, 1.0, 3, 10)
    assert rows.tolist() == [0, 7, 1]


@pytest.mark.parametrize("kernel", ["int8", "bits"])
def test_a_mask_never_starves(tier, kernel):
    matrix, scales, query, query_scale = random_vectors(5003)
    mask = np.zeros(5003, np.uint8)
    mask[[17, 2500, 5002]] = 1
    expected = best(exact_scores(matrix, scales, query, query_scale), mask != 0, 3)
    if kernel == "int8":
        found = distance.topk_int8(matrix, scales, query, query_scale, 3, mask)
    else:
        bits = distance.pack_bits(matrix)
        found = distance.topk_bits(bits, matrix, scales, query, query_scale, 3, 3, mask)
    assert_same(found, expected)


def test_rows_and_queries_without_direction_are_never_hits(tier):
    matrix, scales, query, query_scale = random_vectors(10)
    scales[4] = 0
    bits = distance.pack_bits(matrix)
    assert 4 not in distance.topk_int8(matrix, scales, query, query_scale, 10)[0]
    assert 4 not in distance.topk_bits(bits, matrix, scales, query, query_scale, 10, 10)[0]
    assert len(distance.topk_int8(matrix, scales, query, 0.0, 10)[0]) == 0
    assert len(distance.topk_bits(bits, matrix, scales, query, 0.0, 10, 10)[0]) == 0


def test_empty_matrix(tier):
    matrix, scales, query, query_scale = random_vectors(0)
    bits = distance.pack_bits(matrix)
    empty = np.empty(0, np.int32), np.empty(0)
    mask = np.empty(0, np.uint8)
    assert bits.shape == (0, 4)
    assert_same(distance.topk_int8(matrix, scales, query, query_scale, 5), empty)
    assert_same(distance.topk_int8(matrix, scales, query, query_scale, 5, mask), empty)
    assert_same(distance.topk_bits(bits, matrix, scales, query, query_scale, 5, 9, mask), empty)
    assert distance.score_rows(matrix, scales, query, query_scale, empty[0]).shape == (0,)


def test_score_rows_is_exact(tier):
    vectors = random_vectors(500)
    rows = np.random.default_rng(3).integers(0, 500, 301).astype(np.int32)
    read_only(*vectors[:3], rows)
    expected = exact_scores(*vectors)[rows]
    np.testing.assert_array_equal(distance.score_rows(*vectors, rows), expected)


def test_bits_estimate_ranks_by_four_bit_query(tier):
    matrix, _, query, _ = random_vectors(2000)
    scales = np.ones(2000, np.float32)
    levels = np.clip((query.astype(np.int64) + 136) // 17, 0, 15)
    estimates = (2 * levels - 15) @ (2 * (matrix.T > 0).astype(np.int64) - 1)
    candidates, _ = best(estimates.astype(np.float64), np.ones(2000, bool), 50)
    scores = exact_scores(matrix, scales, query, 1.0)
    expected = best(scores, np.isin(np.arange(2000), candidates), 50)
    bits = distance.pack_bits(matrix)
    assert_same(distance.topk_bits(bits, matrix, scales, query, 1.0, 50, 50), expected)


@pytest.mark.parametrize("candidates", [1, 10, 64, 300])
def test_bits_keep_the_best_estimates_of_every_block(tier, candidates):
    # Sign vectors: the estimate is exact, so the candidates are the nearest rows themselves.
    rng = np.random.default_rng(3)
    matrix = rng.choice(np.array([-1, 1], np.int8), (1000, 64))
    scales, query = np.ones(1000, np.float32), rng.choice(np.array([-127, 127], np.int8), 64)
    rows, scores = distance.topk_bits(
        distance.pack_bits(matrix), matrix, scales, query, 1.0, candidates, candidates
    )
    expected, exact = distance.topk_int8(matrix, scales, query, 1.0, candidates)
    assert rows.tolist() == expected.tolist()
    assert scores.tolist() == exact.tolist()


@pytest.fixture(scope="module")
def embedded_docstrings() -> tuple[np.ndarray, np.ndarray]:
    """Embeddings of standard-library docstrings, and of a few words out of some of them."""
    with as_file(files("brain_daemon.embedding") / "default") as folder:
        model = StaticModel.from_pretrained(str(folder))
    texts = set()
    for path in sorted(Path(os.__file__).parent.glob("*/*.py"))[:600]:
        try:
            nodes = list(ast.walk(ast.parse(path.read_bytes())))
        except (SyntaxError, ValueError):
            continue
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                texts.add(ast.get_docstring(node) or "")
    corpus = sorted(text for text in texts if len(text) > 40)
    queries = [" ".join(text.split()[2:9]) for text in corpus[::20]]
    return model.encode(corpus), model.encode(queries)


def test_bits_recall_on_real_text(tier, embedded_docstrings):
    corpus, queries = embedded_docstrings
    assert len(corpus) > 2000
    quantized = [distance.quantize_int8(vector) for vector in corpus]
    matrix = np.stack([values for values, _ in quantized])
    scales = np.array([scale for _, scale in quantized], np.float32)
    bits = distance.pack_bits(matrix)
    agreement = []
    for values, scale in map(distance.quantize_int8, queries):
        exact, _ = distance.topk_int8(matrix, scales, values, scale, 10)
        found, _ = distance.topk_bits(bits, matrix, scales, values, scale, 10, 400)
        agreement.append(len(np.intersect1d(exact, found)) / max(len(exact), 1))
    assert np.mean(agreement) >= 0.97


@pytest.mark.parametrize("n_rows", [0, 1, 9])
def test_pack_bits_matches_sqlite_vec(n_rows):
    rng = np.random.default_rng(n_rows)
    values = rng.integers(-2, 3, (n_rows, 192), dtype=np.int8)
    bits = distance.pack_bits(values)
    assert bits.dtype == np.uint64
    assert bits.shape == (n_rows, 3)
    connection = apsw.Connection(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    for row, packed in zip(values, bits, strict=True):
        sql = "SELECT vec_quantize_binary(vec_int8(?))"
        assert connection.execute(sql, (row.tobytes(),)).fetchone()[0] == packed.tobytes()
    unpacked = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")
    np.testing.assert_array_equal(unpacked, values > 0)
    connection.close()


finite = st.floats(-(2.0**99), 2.0**99, width=32)


@given(hnp.arrays(np.float32, st.integers(0, 70), elements=finite))
def test_quantize_matches_its_definition(x):
    values, scale = distance.quantize_int8(x)
    assert values.dtype == np.int8
    largest = np.abs(x).max(initial=np.float32(0))
    assert scale == float(np.float32(largest / np.float32(127)))
    if scale == 0:
        assert not values.any()
    else:
        exact = x.astype(np.float64) / scale
        np.testing.assert_array_equal(values, np.clip(np.rint(exact), -127, 127))


def test_quantize_rounds_half_to_even():
    x = np.array([127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5], np.float32)
    values, scale = distance.quantize_int8(x)
    assert scale == 1.0
    assert values.tolist() == [127, 0, 2, 2, 0, -2, -2]


def test_add_rows_is_the_sum_with_the_weighted_mean(tier):
    matrix, scales, query, _ = random_vectors(9)
    asked = (query / np.linalg.norm(query.astype(np.float64))).astype(np.float32)
    rows, weights = np.array([4, 0, 4], np.int32), np.array([1, 0.5, 0.25], np.float32)
    moved, scale = distance.add_rows(asked, matrix, scales, rows, weights)
    mean = (weights / weights.sum() * scales[rows]) @ matrix[rows].astype(np.float64)
    expected, _ = distance.quantize_int8((asked + mean).astype(np.float32))
    assert np.abs(moved.astype(int) - expected).max() <= 1  # half a step may round either way
    assert scale * np.linalg.norm(moved.astype(np.float64)) == pytest.approx(1.0)


def test_add_rows_of_what_cancels_has_no_direction():
    matrix, scales = np.full((1, 64), 2, np.int8), np.ones(1, np.float32)
    asked, rows = np.full(64, -2, np.float32), np.zeros(1, np.int32)
    moved, scale = distance.add_rows(asked, matrix, scales, rows, np.ones(1, np.float32))
    assert not moved.any()
    assert scale == 0.0


@pytest.mark.parametrize(
    ("rows", "weights", "message"),
    [([-1], [1], "row -1 is outside"), ([3], [1], "row 3"), ([0, 1], [1], "1 weights for 2")],
)
def test_add_rows_checks_rows(rows, weights, message):
    matrix, scales, _, _ = random_vectors(3)
    asked = np.ones(256, np.float32)
    with pytest.raises(ValueError, match=message):
        distance.add_rows(
            asked, matrix, scales, np.array(rows, np.int32), np.array(weights, np.float32)
        )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_quantize_gives_zeros_for_what_has_no_direction(bad):
    x = np.array([1, bad, 2], np.float32)
    for vector in (x, np.zeros(3, np.float32), np.full(3, 1e-45, np.float32)):
        values, scale = distance.quantize_int8(vector)
        assert values.tolist() == [0, 0, 0]
        assert scale == 0.0


@pytest.mark.parametrize("table_type", [np.int8, np.float32])
@pytest.mark.parametrize("id_type", [np.int32, np.int64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dim", [256, 7])
def test_pool_is_the_normalised_mean(tier, table_type, id_type, weighted, dim):
    rng = np.random.default_rng(5)
    table = rng.integers(-127, 128, (50, dim)).astype(table_type)
    weights = rng.uniform(0, 2, 50).astype(np.float32) if weighted else None
    ids = rng.integers(0, 50, 33).astype(id_type)
    read_only(table, ids)
    factors = weights[ids][:, None] if weights is not None else 1
    mean = (table[ids].astype(np.float64) * factors).mean(axis=0)
    pooled = distance.pool(table, ids, weights)
    assert pooled.dtype == np.float32
    np.testing.assert_allclose(pooled, mean / np.linalg.norm(mean), atol=1e-6)


def test_pool_gives_the_same_bits_on_every_tier():
    rng = np.random.default_rng(6)
    table = rng.standard_normal((50, 256)).astype(np.float32)
    weights = rng.uniform(0, 2, 50).astype(np.float32)
    before, results = distance.simd_tier(), []
    for name in distance.simd_tiers():
        distance.set_simd_tier(name)
        results.append(distance.pool(table, np.arange(50), weights).tobytes())
    distance.set_simd_tier(before)
    assert len(set(results)) == 1


def test_pool_of_nothing_and_of_zeros_is_zero():
    table = np.zeros((3, 64), np.float32)
    assert not distance.pool(table, np.empty(0, np.int64)).any()
    assert not distance.pool(table, np.array([0, 1])).any()
    assert distance.pool(np.empty((0, 64), np.int8), np.empty(0, np.int32)).shape == (64,)


@pytest.mark.parametrize("bad", [-1, 3, 2**40, -(2**40)])
def test_pool_checks_ids(bad):
    with pytest.raises(ValueError, match=f"id {bad} is outside a table of 3 rows"):
        distance.pool(np.zeros((3, 64), np.int8), np.array([0, bad, 1]))


@pytest.mark.parametrize("table_type", [np.int8, np.float32])
@pytest.mark.parametrize("id_type", [np.int32, np.int64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dim", [256, 7])
def test_length_is_that_of_the_sum_to_the_last_bit(table_type, id_type, weighted, dim):
    rng = np.random.default_rng(7)
    table = (rng.standard_normal((50, dim)) * 40).astype(table_type)
    weights = rng.uniform(0, 2, 50).astype(np.float32) if weighted else None
    ids = rng.integers(0, 50, 5).astype(id_type)
    read_only(table, ids)
    factors = weights[ids, None] if weights is not None else 1
    total = (table[ids].astype(np.float64) * factors).cumsum(axis=0)[-1]
    assert distance.length(table, ids, weights) == np.sqrt((total**2).cumsum()[-1])


def test_length_of_nothing_is_zero():
    assert distance.length(np.ones((3, 64), np.float32), np.empty(0, np.int64)) == 0.0


@pytest.mark.parametrize("bad", [-1, 3, 2**40, -(2**40)])
def test_length_checks_ids(bad):
    with pytest.raises(ValueError, match=f"id {bad} is outside a table of 3 rows"):
        distance.length(np.zeros((3, 64), np.int8), np.array([0, bad, 1]))


def test_wrong_arguments_are_refused():
    matrix, scales, query, query_scale = random_vectors(10)
    bits = distance.pack_bits(matrix)
    rows = np.zeros(1, np.int32)
    wrong = [
        lambda: distance.topk_int8(matrix, scales, query, query_scale, 0),
        lambda: distance.topk_int8(matrix, scales, query, query_scale, -1),
        lambda: distance.topk_int8(matrix, scales[:9], query, query_scale, 1),
        lambda: distance.topk_int8(matrix, scales, query[:64], query_scale, 1),
        lambda: distance.topk_int8(matrix, scales, query, float("nan"), 1),
        lambda: distance.topk_int8(matrix, scales, query, -1.0, 1),
        lambda: distance.topk_int8(matrix, scales, query, 1.0, 1, np.ones(9, np.uint8)),
        lambda: distance.topk_int8(matrix[:, ::2], scales, query[::2], query_scale, 1),
        lambda: distance.topk_int8(matrix.astype(np.int16), scales, query, query_scale, 1),
        lambda: distance.topk_int8(np.zeros((1, 65), np.int8), scales[:1], query[:65], 1.0, 1),
        lambda: distance.topk_bits(bits[:9], matrix, scales, query, query_scale, 1, 1),
        lambda: distance.topk_bits(bits, matrix, scales, query, query_scale, 1, 0),
        lambda: distance.topk_bits(bits, matrix, scales, query, query_scale, 0, 1),
        lambda: distance.pack_bits(np.zeros((1, 63), np.int8)),
        lambda: distance.pack_bits(np.zeros((1, 0), np.int8)),
        lambda: distance.score_rows(matrix, scales, query, query_scale, rows + 10),
        lambda: distance.score_rows(matrix, scales, query, query_scale, rows - 1),
        lambda: distance.pool(matrix, rows, np.ones(9, np.float32)),
        lambda: distance.length(matrix, rows, np.ones(9, np.float32)),
    ]
    for call in wrong:
        with pytest.raises(ValueError, match=r"."):
            call()


def test_scans_run_beside_each_other(tier):
    vectors = random_vectors(3000)
    expected = distance.topk_int8(*vectors, 50)
    results = []

    def scan():
        for _ in range(20):
            results.append(distance.topk_int8(*vectors, 50))

    threads = [threading.Thread(target=scan) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 80
    for result in results:
        assert_same(result, expected)
