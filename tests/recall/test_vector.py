import numpy as np

from brain_daemon._ext.distance import quantize_int8
from brain_daemon.index.vectors import Vectors
from brain_daemon.recall import vector
from tests.index.stores import direction
from tests.recall.memories import Memories

DIM = 128


def vectors_of(embeddings: np.ndarray) -> Vectors:
    quantized = [quantize_int8(embedding) for embedding in embeddings]
    return Vectors.empty(embeddings.shape[1]).append(
        np.stack([matrix for matrix, _ in quantized]),
        np.array([scale for _, scale in quantized], np.float32),
    )


def search(vectors: Vectors, query: np.ndarray, exact_rows: int = 10**6) -> vector.Ranking:
    matrix, scale = quantize_int8(query)
    return vector.search(
        vectors,
        matrix,
        scale,
        np.ones(len(vectors.scales), np.uint8),
        depth=20,
        exact_rows=exact_rows,
        candidates=400,
    )


def test_cosines_best_first_and_never_at_or_below_zero() -> None:
    embeddings = np.stack([direction(str(i), DIM) for i in range(60)])
    query = direction("query", DIM)
    vectors = vectors_of(embeddings)
    ranking = search(vectors, query)
    matrix, scale = quantize_int8(query)
    cosines = (vectors.matrix.astype(int) @ matrix.astype(int)) * vectors.scales * scale
    expected = [row for row in np.argsort(-cosines, kind="stable").tolist() if cosines[row] > 0]
    assert ranking.rows.tolist() == expected[:20]
    np.testing.assert_allclose(ranking.scores, cosines[expected[:20]], rtol=1e-6)
    np.testing.assert_allclose(ranking.scores, (embeddings @ query)[expected[:20]], atol=0.01)
    opposite = search(vectors_of(np.stack([-query])), query)
    assert (opposite.rows.tolist(), opposite.skipped) == ([], None)


def test_the_bit_scan_takes_over_above_exact_rows_and_agrees_at_the_top() -> None:
    rng = np.random.default_rng(3)
    query = direction("query", DIM)
    embeddings = rng.standard_normal((3000, DIM)).astype(np.float32) / 20
    embeddings[::100] += query * rng.uniform(0.2, 1, 30).astype(np.float32)[:, None]
    vectors = vectors_of(embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True))
    exact, by_bits = search(vectors, query), search(vectors, query, exact_rows=2999)
    np.testing.assert_array_equal(exact.rows[:10], by_bits.rows[:10])
    np.testing.assert_array_equal(exact.scores[:10], by_bits.scores[:10])


def test_a_query_without_direction_is_not_a_neighbour_of_anything(memories: Memories) -> None:
    memories.add("ordinary text")
    report = memories.recall("\u0001\u0002 𐎀𐎁")["legs"]["vector"]
    assert report == {"status": "skipped", "reason": "the query has no known tokens"}


def test_a_memory_without_direction_is_stored_and_no_neighbour(memories: Memories) -> None:
    silent = memories.add("word", embedding=np.zeros(memories.dim, np.float32))
    spoken = memories.add("a boat on the lake")
    assert memories.found("ship at sea", graph=False) == [spoken]
    assert memories.found("word", graph=False)[0] == silent


def test_feedback_moves_the_query_towards_passages_by_rank() -> None:
    embeddings = np.stack([direction(str(i), DIM) for i in range(3)])
    query = direction("query", DIM)
    vectors = vectors_of(embeddings)
    moved, scale = vector.add_feedback(query, vectors, np.array([2, 0], np.int32))
    expected = query + (embeddings[2] + embeddings[0] / 2) / 1.5
    np.testing.assert_allclose(moved * scale, expected / np.linalg.norm(expected), atol=0.01)
    assert abs(np.linalg.norm(moved * scale) - 1) < 1e-6
    plain, plain_scale = vector.add_feedback(query, vectors, np.empty(0, np.int32))
    np.testing.assert_allclose(plain * plain_scale, query, atol=0.01)


def test_feedback_is_the_three_best_lexical_hits(memories: Memories) -> None:
    ids = [memories.add(f"{'qwertzuiop ' * (5 - i)}manual") for i in range(4)]
    answer = memories.recall("qwertzuiop", trace=True)
    assert [id_ for id_, _ in answer["ranked"]["lexical"]] == ids
    assert answer["legs"]["vector"]["feedback"] == ids[:3]


def test_feedback_finds_what_resembles_the_lexical_hit(memories: Memories) -> None:
    """The query's own vector knows nothing of the rare word; the passage that holds it does."""
    topic = direction("topic", memories.dim)
    hit = memories.add("qwertzuiop manual", embedding=topic)
    alike = memories.add("nothing in common", embedding=topic + 0.1 * direction("x", memories.dim))
    asked = memories.model.embed("qwertzuiop")
    for i in range(120):
        memories.add(f"filler {i}", embedding=asked + direction(str(i), memories.dim))
    answer = memories.recall("qwertzuiop", k=100, graph=False)
    assert answer["legs"]["vector"]["feedback"] == [hit]
    listed = {h["id"] for h in answer["hits"] if h["provenance"]["vector"]}
    assert {hit, alike} <= listed
    assert len(listed) == 100  # without feedback the 120 fillers are nearer
