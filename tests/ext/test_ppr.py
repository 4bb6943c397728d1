"""The graph and its personalised PageRank against a dense power iteration."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain_daemon._ext.ppr import Graph, count_mentions, neighbors, topk_ppr

EXACT = {"epsilon": 1e-13, "max_pushes": 10**9}


def both_ways(links):
    """Directed edge arrays of undirected (a, b, weight, evidence) links."""
    edges = [(a, b, w, e) for a, b, w, e in links] + [(b, a, w, e) for a, b, w, e in links]
    columns = list(zip(*edges, strict=True)) if edges else [(), (), (), ()]
    types = (np.int32, np.int32, np.float32, np.int32)
    arrays = [np.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    for array in arrays:
        array.flags.writeable = False
    return arrays


def graph_of(links):
    return Graph().append(*both_ways(links))


def passage(row):
    return 2 * row


def entity(index):
    return 2 * index + 1


def transitions(edges, factors, visible):
    """Dense transition matrix over the edges that count, and their number by node."""
    matrix = np.zeros((len(factors), len(factors)))
    degrees = np.zeros(len(factors), int)
    for source, target, weight, evidence in zip(*edges, strict=True):
        seen = evidence < 0 or visible[evidence]
        if seen and (target % 2 or visible[target // 2]) and factors[target] > 0:
            matrix[source, target] += float(weight) * float(factors[target])
            degrees[source] += 1
    sums = matrix.sum(axis=1, keepdims=True)
    return np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0), degrees


def dense_ppr(matrix, restart, damping):
    """Power iteration; nodes without edges restart."""
    rank = restart.copy()
    for _ in range(400):
        dangling = rank[matrix.sum(axis=1) == 0].sum()
        rank = (1 - damping + damping * dangling) * restart + damping * rank @ matrix
    return rank


def restart_vector(seeds, weights, visible, n_nodes):
    restart = np.zeros(n_nodes)
    for seed, weight in zip(seeds, weights, strict=True):
        if seed % 2 or visible[seed // 2]:
            restart[seed] += weight
    return restart / restart.sum() if restart.sum() else restart


def paths(found):
    return [found[3][found[2][i] : found[2][i + 1]].tolist() for i in range(len(found[0]))]


def random_links(rng, n_rows, n_entities, n_links):
    links = []
    for _ in range(n_links):
        row = int(rng.integers(n_rows))
        weight = float(rng.uniform(0.1, 2))
        kind = rng.integers(3)
        one, other = (int(index) for index in rng.integers(n_entities, size=2))
        if kind == 0:
            links.append((passage(row), entity(one), weight, row))
        elif kind == 1:
            links.append((entity(one), entity(other), weight, row))
        else:
            links.append((passage(row), passage(int(rng.integers(n_rows))), weight, -1))
    return links


def random_case(seed, n_rows=30, n_entities=20, n_links=120):
    rng = np.random.default_rng(seed)
    links = random_links(rng, n_rows, n_entities, n_links)
    n_nodes = 2 * max(n_rows, n_entities) + 1
    factors = rng.uniform(0.05, 1, n_nodes).astype(np.float32)
    factors[rng.random(n_nodes) < 0.05] = 0
    visible = (rng.random(n_rows) < 0.7).astype(np.uint8)
    seeds = rng.integers(2 * min(n_rows, n_entities), size=6).astype(np.int32)
    weights = rng.uniform(0, 1, 6)
    for array in (factors, visible, seeds, weights):
        array.flags.writeable = False
    return links, seeds, weights, factors, visible


def expected_hits(links, seeds, weights, factors, visible, damping=0.5):
    matrix, degrees = transitions(both_ways(links), factors, visible)
    restart = restart_vector(seeds, weights, visible, len(factors))
    return dense_ppr(matrix, restart, damping), degrees


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 0.85]))
def test_scores_are_those_of_power_iteration(seed, damping):
    case = random_case(seed)
    links, seeds, weights, factors, visible = case
    rank, _ = expected_hits(*case, damping)
    rows, scores, _, _ = topk_ppr(
        graph_of(links), seeds, weights, factors, visible, damping, k=10**6, **EXACT
    )
    assert (rows.dtype, scores.dtype) == (np.int32, np.float64)
    assert visible[rows].all()
    assert sorted(rows.tolist()) == np.flatnonzero(rank[0 : 2 * len(visible) : 2] > 0).tolist()
    np.testing.assert_allclose(scores, rank[2 * rows], atol=1e-9)
    order = np.lexsort((rows, -scores))
    assert order.tolist() == list(range(len(rows)))


@pytest.mark.parametrize("seed", range(5))
def test_mentions_are_counted_as_the_edges_out_of_visible_passages(seed):
    rng = np.random.default_rng(seed)
    graph = Graph()
    for n_links in (300, 1, 40, 0, 200):  # in several segments
        links = random_links(rng, 40, 25, n_links)
        if links:
            graph = graph.append(*both_ways(links))
    visible = rng.integers(0, 2, 40).astype(np.uint8)
    visible.flags.writeable = False
    everything = np.ones(40, np.uint8)
    expected = np.zeros(30, np.int32)
    for row in np.flatnonzero(visible):
        targets = neighbors(graph, 2 * row, everything)[0]
        np.add.at(expected, targets[targets % 2 == 1] // 2, 1)
    counted = count_mentions(graph, visible, 30)
    assert counted.dtype == np.int32
    assert counted.tolist() == expected.tolist()
    assert expected.any()
    assert count_mentions(graph, np.zeros(40, np.uint8), 25).tolist() == [0] * 25


def test_mentions_of_an_empty_graph_and_of_one_that_does_not_fit():
    assert count_mentions(Graph(), np.empty(0, np.uint8), 2).tolist() == [0, 0]
    graph = graph_of([(passage(1), entity(3), 1.0, 1)])
    with pytest.raises(ValueError, match="row 1, but there are 1"):
        count_mentions(graph, np.ones(1, np.uint8), 4)
    for n_entities in (3, 0, -1):
        with pytest.raises(ValueError, match="entity 3, but there are"):
            count_mentions(graph, np.ones(2, np.uint8), n_entities)


@pytest.mark.parametrize("epsilon", [1e-2, 1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("seed", range(5))
def test_error_stays_below_what_epsilon_allows(seed, epsilon):
    case = random_case(seed, 200, 100, 1500)
    links, seeds, weights, factors, visible = case
    rank, degrees = expected_hits(*case)
    rows, scores, _, _ = topk_ppr(
        graph_of(links), seeds, weights, factors, visible, 0.5, epsilon, 10**6, 10**9
    )
    passages = rank[0 : 2 * len(visible) : 2].copy()
    passages[rows] -= scores
    # Restarts from nodes without edges scale scores by less than 1 / (1 - damping).
    assert passages.min() >= -1e-12
    assert passages.sum() <= 2 * 0.5 * epsilon * np.maximum(degrees, 1).sum()


def test_coarse_pushing_is_coarser():
    case = random_case(3, 200, 100, 1500)
    links, seeds, weights, factors, visible = case
    rank, _ = expected_hits(*case)
    graph, errors = graph_of(links), []
    for epsilon in (1e-2, 1e-4, 1e-6):
        found = topk_ppr(graph, seeds, weights, factors, visible, 0.5, epsilon, 10**6, 10**9)
        errors.append(rank[0 : 2 * len(visible) : 2].sum() - found[1].sum())
    assert errors[0] > 4 * errors[1] > 16 * errors[2] > 0


def test_hub_factors_change_the_ranking():
    # Seed 0 reaches row 1 through entity 0 and row 2 through entity 1.
    links = [
        (passage(0), entity(0), 1.0, 0),
        (passage(1), entity(0), 1.0, 1),
        (passage(0), entity(1), 0.8, 0),
        (passage(2), entity(1), 0.8, 2),
    ]
    seeds, weights, visible = np.array([0], np.int32), np.ones(1), np.ones(3, np.uint8)
    factors = np.ones(6, np.float32)
    graph = graph_of(links)
    assert topk_ppr(graph, seeds, weights, factors, visible, **EXACT)[0].tolist() == [0, 1, 2]
    factors[entity(0)] = 0.3
    assert topk_ppr(graph, seeds, weights, factors, visible, **EXACT)[0].tolist() == [0, 2, 1]
    factors[entity(0)] = 0
    assert topk_ppr(graph, seeds, weights, factors, visible, **EXACT)[0].tolist() == [0, 2]


def test_invisible_evidence_and_passages_stop_the_flow():
    # 0 - e0 - e1 - 1, where e0 - e1 rests on row 2.
    links = [
        (passage(0), entity(0), 1.0, 0),
        (entity(0), entity(1), 1.0, 2),
        (passage(1), entity(1), 1.0, 1),
    ]
    graph, seeds, weights = graph_of(links), np.array([0], np.int32), np.ones(1)
    factors = np.ones(6, np.float32)

    def found(*visible):
        return topk_ppr(graph, seeds, weights, factors, np.array(visible, np.uint8), **EXACT)

    assert found(1, 1, 1)[0].tolist() == [0, 1]
    assert paths(found(1, 1, 1)) == [[0], [passage(0), entity(0), entity(1), passage(1)]]
    assert found(1, 1, 0)[0].tolist() == [0]
    assert found(1, 0, 1)[0].tolist() == [0]
    assert found(0, 1, 1)[0].tolist() == []


@pytest.mark.parametrize("epsilon", [1e-2, 1e-4, 1e-13])
def test_what_is_invisible_leaves_no_trace(epsilon):
    links, seeds, weights, factors, _ = random_case(11, 40, 20, 200)
    visible = np.ones(60, np.uint8)
    visible[40:] = 0
    rng = np.random.default_rng(5)
    secret = [
        (passage(row), entity(int(rng.integers(20))), 5.0, row)
        for row in range(40, 60)
        for _ in range(30)
    ]
    factors = np.concatenate([factors, np.ones(50, np.float32)])
    arguments = seeds, weights, factors, visible, 0.5, epsilon, 100, 10**9
    without = topk_ppr(graph_of(links), *arguments)
    with_secret = topk_ppr(graph_of(links).append(*both_ways(secret)), *arguments)
    for one, other in zip(without, with_secret, strict=True):
        np.testing.assert_array_equal(one, other)


def test_paths_lead_from_a_seed_along_visible_edges():
    links, seeds, weights, factors, visible = random_case(7, 100, 50, 600)
    matrix, _ = transitions(both_ways(links), factors, visible)
    found = topk_ppr(graph_of(links), seeds, weights, factors, visible)
    assert found[2].dtype == found[3].dtype == np.int32
    assert found[2][0] == 0
    assert found[2][-1] == len(found[3])
    assert max(map(len, paths(found))) > 2
    for row, path in zip(found[0].tolist(), paths(found), strict=True):
        assert path[-1] == passage(row)
        assert path[0] in seeds
        assert len(set(path)) == len(path)
        assert all(matrix[a, b] > 0 for a, b in pairwise(path))


def test_ties_ascend_by_row_and_k_cuts():
    links = [(passage(row), entity(0), 1.0, row) for row in range(400)]
    seeds, factors = np.array([1], np.int32), np.ones(800, np.float32)
    for k in (1, 100, 400, 10**9):
        rows, scores, _, _ = topk_ppr(
            graph_of(links), seeds, np.ones(1), factors, np.ones(400, np.uint8), k=k
        )
        assert rows.tolist() == list(range(min(k, 400)))
        assert len(set(scores.tolist())) == 1


def test_a_hub_does_not_starve_the_few_visible():
    links = [(passage(row), entity(0), 1.0, row) for row in range(10_003)]
    visible = np.zeros(10_003, np.uint8)
    visible[[5, 7000, 10_002]] = 1
    factors = np.ones(20_006, np.float32)
    found = topk_ppr(graph_of(links), np.array([1], np.int32), np.ones(1), factors, visible, k=3)
    assert found[0].tolist() == [5, 7000, 10_002]


def test_a_hub_below_its_threshold_is_not_pushed():
    # Row 0 leaks 0.5 into a hub of 1,000: below epsilon times degree, so nothing passes it.
    links = [(passage(row), entity(0), 1.0, row) for row in range(1000)]
    seeds, factors = np.array([0], np.int32), np.ones(2000, np.float32)
    visible = np.ones(1000, np.uint8)
    graph = graph_of(links)
    coarse = topk_ppr(graph, seeds, np.ones(1), factors, visible, epsilon=6e-4, k=2000)
    assert coarse[0].tolist() == [0]
    fine = topk_ppr(graph, seeds, np.ones(1), factors, visible, epsilon=4e-4, k=2000)
    assert fine[0].tolist() == list(range(1000))
    visible[100:] = 0  # the threshold goes by what is visible
    seen = topk_ppr(graph, seeds, np.ones(1), factors, visible, epsilon=6e-4, k=2000)
    assert seen[0].tolist() == list(range(100))


def test_max_pushes_bounds_the_work():
    links = [(passage(row), passage(row + 1), 1.0, -1) for row in range(9)]
    seeds, factors = np.array([0], np.int32), np.ones(20, np.float32)
    for max_pushes in (1, 2, 3):
        rows = topk_ppr(
            graph_of(links),
            seeds,
            np.ones(1),
            factors,
            np.ones(10, np.uint8),
            max_pushes=max_pushes,
        )[0]
        assert sorted(rows.tolist()) == list(range(max_pushes + 1))


def test_an_isolated_seed_restarts():
    links = [(passage(0), passage(1), 1.0, -1)]
    seeds, factors = np.array([0, 4], np.int32), np.ones(6, np.float32)
    rows, scores, _, _ = topk_ppr(
        graph_of(links), seeds, np.ones(2), factors, np.ones(3, np.uint8), **EXACT
    )
    assert rows.tolist() == [0, 2, 1]
    assert math.isclose(scores.sum(), 1)


def test_seeds_add_up_and_invisible_ones_are_ignored():
    links, _, _, factors, visible = random_case(1)
    graph = graph_of(links)
    hidden = passage(int(np.flatnonzero(visible == 0)[0]))
    shown = passage(int(np.flatnonzero(visible)[0]))

    def found(seeds, weights):
        seeds, weights = np.array(seeds, np.int32), np.array(weights, np.float64)
        return topk_ppr(graph, seeds, weights, factors, visible)

    expected = found([shown, 3], [0.75, 0.25])
    for seeds, weights in (([shown, 3, shown], [1, 1, 2]), ([hidden, shown, 3], [9, 3, 1])):
        for one, other in zip(found(seeds, weights), expected, strict=True):
            np.testing.assert_array_equal(one, other)
    for seeds, weights in (([], []), ([hidden], [1]), ([shown], [0])):
        rows, scores, indptr, nodes = found(seeds, weights)
        assert rows.shape == scores.shape == nodes.shape == (0,)
        assert indptr.tolist() == [0]


def test_empty_graph():
    empty = np.empty(0, np.uint8)
    none, factors = np.empty(0, np.int32), np.empty(0, np.float32)
    graph = Graph()
    assert (graph.n_edges, graph.n_segments, graph.nbytes) == (0, 0, 0)
    assert graph.append(none, none, factors, none).n_edges == 0
    assert graph.compact(empty).n_edges == 0
    assert topk_ppr(graph, none, np.empty(0), factors, empty)[0].shape == (0,)
    assert [part.shape for part in neighbors(graph, 5, empty)] == [(0,)] * 3
    rows, scores, _, nodes = topk_ppr(
        graph, np.array([2], np.int32), np.ones(1), np.ones(4, np.float32), np.ones(2, np.uint8)
    )
    assert (rows.tolist(), nodes.tolist()) == ([1], [2])
    assert math.isclose(scores[0], 1)


def test_segments_stay_few_and_change_nothing():
    links, seeds, weights, factors, visible = random_case(2, 300, 200, 12_000)
    single, many, sizes = graph_of(links), Graph(), set()
    edges = both_ways(links)
    for start in range(0, 24_000, 50):
        many = many.append(*(column[start : start + 50] for column in edges))
        sizes.add(many.n_segments)
    assert single.n_segments == 1
    assert many.n_edges == single.n_edges == 24_000
    assert 1 < max(sizes) <= 2 + math.log(24_000 / 4096, 3)
    for one, other in zip(
        topk_ppr(single, seeds, weights, factors, visible),
        topk_ppr(many, seeds, weights, factors, visible),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    for node in range(60):
        for one, other in zip(
            neighbors(single, node, visible), neighbors(many, node, visible), strict=True
        ):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("epsilon", [1e-3, 1e-4, 1e-6])
@pytest.mark.parametrize("seed", range(8))
def test_the_order_in_which_a_graph_grew_has_no_part_in_the_answer(seed, epsilon):
    """A store answers after a restart, which loads the graph at once, as it did before."""
    links, seeds, weights, factors, visible = random_case(seed, 200, 60, 900)
    rng = np.random.default_rng(seed)
    shuffled = [links[i] for i in rng.permutation(len(links))]
    grown = Graph()
    for start in range(0, len(shuffled), 37):
        grown = grown.append(*both_ways(shuffled[start : start + 37]))
    order = rng.permutation(len(seeds))
    once = topk_ppr(graph_of(links), seeds, weights, factors, visible, 0.5, epsilon, 100)
    again = topk_ppr(grown, seeds[order], weights[order], factors, visible, 0.5, epsilon, 100)
    assert len(once[0])
    assert np.array_equal(once[0], again[0])
    assert np.array_equal(once[1], again[1])


def test_old_graphs_are_left_as_they_were():
    links, seeds, weights, factors, visible = random_case(4)
    old = graph_of(links)
    before = topk_ppr(old, seeds, weights, factors, visible)
    old.append(*both_ways(random_links(np.random.default_rng(9), 30, 20, 500)))
    old.compact(np.zeros(30, np.uint8))
    assert old.n_edges == 240
    after = topk_ppr(old, seeds, weights, factors, visible)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_neighbors_and_compact_keep_what_counts(seed):
    links, _, _, _, visible = random_case(seed)
    graph = graph_of(links[:50]).append(*both_ways(links[50:]))
    kept = graph.compact(visible)
    edges = [
        edge
        for part in (links[:50], links[50:])
        for edge in zip(*(column.tolist() for column in both_ways(part)), strict=True)
    ]
    n_kept = 0
    everything = np.ones(30, np.uint8)
    for node in range(60):
        counting = [
            edge
            for edge in edges
            if edge[0] == node
            and (edge[3] < 0 or visible[edge[3]])
            and (edge[1] % 2 or visible[edge[1] // 2])
        ]
        found = [part.tolist() for part in neighbors(graph, node, visible)]
        assert list(zip(*found, strict=True)) == [edge[1:] for edge in counting]
        alive = counting if node % 2 or visible[node // 2] else []
        found = [part.tolist() for part in neighbors(kept, node, everything)]
        assert list(zip(*found, strict=True)) == [edge[1:] for edge in alive]
        n_kept += len(alive)
    assert kept.n_edges == n_kept
    assert kept.n_segments == min(n_kept, 1)


def test_wrong_arguments_are_refused():
    edge = both_ways([(0, 1, 1.0, 0)])
    graph = Graph().append(*edge)
    ok = [graph, np.array([0], np.int32), np.ones(1), np.ones(2, np.float32), np.ones(1, np.uint8)]
    assert topk_ppr(*ok)[0].tolist() == [0]
    wrong = {
        1: [np.array([seed], np.int32) for seed in (-1, 2, 2**31 - 1)] + [np.zeros(2, np.int32)],
        2: [np.array([weight]) for weight in (-1, np.nan, np.inf)],
        3: [np.ones(1, np.float32), np.ones(2)],
        4: [np.empty(0, np.uint8)],
    }
    for position, values in wrong.items():
        for value in values:
            arguments = [*ok]
            arguments[position] = value
            with pytest.raises(ValueError, match=r"."):
                topk_ppr(*arguments)
    for options in (
        {"damping": -0.1},
        {"damping": 1.0},
        {"damping": math.nan},
        {"epsilon": 0.0},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"k": 0},
        {"max_pushes": 0},
    ):
        with pytest.raises(ValueError, match="is"):
            topk_ppr(*ok, **options)
    for column, value in ((0, -1), (1, -1), (2, 0), (2, -1), (2, np.nan), (2, np.inf), (3, -2)):
        broken = [part.copy() for part in edge]
        broken[column][1] = value
        with pytest.raises(ValueError, match="edge"):
            graph.append(*broken)
    with pytest.raises(ValueError, match="2 sources, 1 targets"):
        graph.append(edge[0], edge[1][:1], edge[2], edge[3])
    with pytest.raises(ValueError, match="row 0"):
        graph.compact(np.empty(0, np.uint8))
    with pytest.raises(ValueError, match="row 0"):
        neighbors(graph, 0, np.empty(0, np.uint8))
    with pytest.raises(ValueError, match="node -1 is negative"):
        neighbors(graph, -1, np.ones(1, np.uint8))
