"""Graph kernels: an immutable graph of passages and entities, personalised PageRank over it.

Node ``2 * row`` is a passage, node ``2 * entity_index + 1`` an entity.  What seeds a walk, how
hubs are damped and which rows are visible is decided above.
"""

cimport cython
from libc.math cimport isfinite, rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc

import numpy as np

cdef extern from "topk.h" nogil:
    ctypedef struct brain_hit:
        double score
        int32_t row
    ctypedef struct brain_topk:
        brain_hit *hits
        Py_ssize_t capacity
        Py_ssize_t count
    void brain_topk_push(brain_topk *top, double score, int32_t row)
    double brain_topk_threshold(const brain_topk *top)
    void brain_topk_sort(brain_topk *top)

cdef extern from "csr.h" nogil:
    ctypedef struct brain_csr:
        int64_t *indptr
        Py_ssize_t n_keys
    void brain_csr_free(brain_csr *csr)
    size_t brain_csr_nbytes(const brain_csr *csr)
    void brain_csr_find(const brain_csr *csr, uint32_t key, int64_t *start, int64_t *end)
    int brain_csr_reserve(brain_csr *csr, Py_ssize_t max_keys)
    void brain_csr_open(brain_csr *csr, uint32_t key, int64_t n_entries)
    int brain_csr_seal(brain_csr *csr, int64_t n_entries)
    uint32_t brain_csr_key(const brain_csr *csr, Py_ssize_t at)
    bint brain_csr_smallest(const brain_csr *const *parts, Py_ssize_t *cursors,
                            Py_ssize_t n_parts, uint32_t *key)
    void brain_sort_by_key(const uint32_t *keys, uint32_t n, uint32_t *order, uint32_t *spare)

cdef extern from "push.h" nogil:
    enum:
        BRAIN_SEED
        BRAIN_UNTOUCHED
    ctypedef struct brain_edges:
        brain_csr sources
        int32_t *targets
        float *weights
        int32_t *evidence
        int64_t n_edges
        int32_t largest_node
        int32_t largest_row
    ctypedef struct brain_terrain:
        brain_edges **parts
        Py_ssize_t n_parts
        const float *factors
        const uint8_t *visible
        double damping
        double epsilon
    ctypedef struct brain_walk_node:
        double residual
        double estimate
        int32_t node
        int32_t parent
    ctypedef struct brain_walk:
        int32_t *slot_of
        brain_walk_node *states
        int32_t n_states
        double leaked
    void brain_walk_free(brain_walk *walk)
    int brain_walk_begin(brain_walk *walk, Py_ssize_t n_nodes)
    void brain_walk_end(brain_walk *walk)
    int32_t brain_walk_slot(brain_walk *walk, int32_t node)
    void brain_walk_give(brain_walk *walk, int32_t slot, double mass, int32_t parent,
                         double epsilon)
    bint brain_edge_visible(const brain_edges *part, int64_t at, const uint8_t *visible)
    int brain_walk_push(brain_walk *walk, const brain_terrain *terrain, int64_t max_pushes)

# A segment is merged into the newer one beside it when it is at most MERGE_RATIO times as
# large, or small: so their number is logarithmic, and an append is cheap on average.
cdef enum:
    MERGE_RATIO = 3
    SMALL_SEGMENT = 4096


@cython.final
cdef class _Segment:
    """Owner of one immutable run of edges."""

    cdef brain_edges data

    def __dealloc__(self):
        brain_csr_free(&self.data.sources)
        free(self.data.targets)
        free(self.data.weights)
        free(self.data.evidence)


@cython.final
cdef class Graph:
    """Immutable directed edges by source node, in segments as they were appended.

    `append` and `compact` give new objects that share the segments they keep.  The edges of a
    node come in the order in which they were appended, whatever the segments.
    """

    cdef tuple segments
    cdef brain_edges **parts         # the data of `segments`
    cdef Py_ssize_t n_parts
    cdef int32_t largest_node        # -1 = no edges
    cdef int32_t largest_row
    cdef readonly int64_t n_edges

    def __cinit__(self):
        self.segments = ()
        self.largest_node = self.largest_row = -1

    def __dealloc__(self):
        free(self.parts)

    @property
    def n_segments(self):
        """Number of segments: logarithmic in `n_edges`."""
        return self.n_parts

    @property
    def nbytes(self):
        """Bytes of memory held, shared segments included."""
        cdef Py_ssize_t p
        cdef size_t total = 0
        for p in range(self.n_parts):
            total += brain_csr_nbytes(&self.parts[p].sources)
            total += self.parts[p].n_edges * (2 * sizeof(int32_t) + sizeof(float))
        return total

    def append(self, const int32_t[::1] sources, const int32_t[::1] targets,
               const float[::1] weights, const int32_t[::1] evidence):
        """Graph with more directed edges.

        Parameters
        ----------
        sources, targets : int32 array, shape (e,)
            Nodes; a link that leads both ways is two edges.
        weights : float32 array, shape (e,)
            Positive and finite.
        evidence : int32 array, shape (e,)
            Row that vouches for the edge; -1 = none is needed.

        Returns
        -------
        Graph
            This object is left as it is.

        Raises
        ------
        ValueError
            Lengths disagree, a value is out of its range, or the graph would have 2**31 edges
            or more.
        """
        cdef Py_ssize_t n = sources.shape[0], i
        if targets.shape[0] != n or weights.shape[0] != n or evidence.shape[0] != n:
            raise ValueError(f"{n} sources, {targets.shape[0]} targets, {weights.shape[0]}"
                             f" weights and {evidence.shape[0]} evidence rows")
        if n + self.n_edges > 0x7fffffff:
            raise ValueError(f"{n + self.n_edges} edges: less than 2**31 are possible")
        for i in range(n):
            if sources[i] < 0 or targets[i] < 0 or evidence[i] < -1:
                raise ValueError(f"edge {sources[i]} -> {targets[i]} on row {evidence[i]}:"
                                 " a node or a row is negative")
            if not (weights[i] > 0 and isfinite(weights[i])):
                raise ValueError(f"weight {weights[i]} of edge {sources[i]} -> {targets[i]}:"
                                 " it must be positive and finite")
        if n == 0:
            return self
        cdef _Segment new = by_source(sources, targets, weights, evidence)
        cdef int64_t merged = n
        i = self.n_parts
        while i > 0 and (self.parts[i - 1].n_edges <= MERGE_RATIO * merged
                         or self.parts[i - 1].n_edges <= SMALL_SEGMENT):
            merged += self.parts[i - 1].n_edges
            i -= 1
        if i < self.n_parts:
            new = merge(from_segments((*self.segments[i:], new)), None)
        return from_segments((*self.segments[:i], new))

    def compact(self, const uint8_t[::1] alive):
        """Graph in one segment, without edges of dead rows.

        Parameters
        ----------
        alive : uint8 array, shape (n_rows,)
            An edge goes when its evidence, or a passage at either end, is 0.

        Raises
        ------
        ValueError
            A row of the graph is outside `alive`.
        """
        check_rows(self, alive.shape[0])
        if self.n_parts == 0 or alive.shape[0] == 0:
            return self
        cdef _Segment kept = merge(self, alive)
        return from_segments((kept,) if kept.data.n_edges else ())


cdef Graph from_segments(tuple segments):
    cdef Graph graph = Graph()
    cdef _Segment owner
    graph.parts = <brain_edges **>malloc((len(segments) + 1) * sizeof(void *))
    if graph.parts == NULL:
        raise MemoryError
    graph.segments = segments
    for owner in segments:
        graph.parts[graph.n_parts] = &owner.data
        graph.n_parts += 1
        graph.n_edges += owner.data.n_edges
        graph.largest_node = max(graph.largest_node, owner.data.largest_node)
        graph.largest_row = max(graph.largest_row, owner.data.largest_row)
    return graph


cdef _Segment new_segment(int64_t n_edges, Py_ssize_t max_keys):
    cdef _Segment new = _Segment()
    new.data.targets = <int32_t *>malloc((n_edges + 1) * sizeof(int32_t))
    new.data.weights = <float *>malloc((n_edges + 1) * sizeof(float))
    new.data.evidence = <int32_t *>malloc((n_edges + 1) * sizeof(int32_t))
    new.data.largest_node = new.data.largest_row = -1
    if (new.data.targets == NULL or new.data.weights == NULL or new.data.evidence == NULL
            or brain_csr_reserve(&new.data.sources, max_keys) < 0):
        raise MemoryError
    return new


cdef void add_edge(brain_edges *data, int32_t source, int32_t target, float weight,
                   int32_t evidence) noexcept nogil:
    data.targets[data.n_edges] = target
    data.weights[data.n_edges] = weight
    data.evidence[data.n_edges] = evidence
    data.n_edges += 1
    data.largest_node = max(data.largest_node, max(source, target))
    data.largest_row = max(data.largest_row, evidence)
    if source % 2 == 0:
        data.largest_row = max(data.largest_row, source // 2)
    if target % 2 == 0:
        data.largest_row = max(data.largest_row, target // 2)


cdef _Segment by_source(const int32_t[::1] sources, const int32_t[::1] targets,
                        const float[::1] weights, const int32_t[::1] evidence):
    """One segment out of checked edges."""
    cdef Py_ssize_t n = sources.shape[0], i
    cdef _Segment new = new_segment(n, n)
    cdef brain_edges *data = &new.data
    cdef uint32_t *order = <uint32_t *>malloc(2 * n * sizeof(uint32_t))
    cdef uint32_t at
    cdef int failed = order == NULL
    if not failed:
        with nogil:
            brain_sort_by_key(<const uint32_t *>&sources[0], <uint32_t>n, order, order + n)
            for i in range(n):
                at = order[i]
                if i == 0 or sources[at] != sources[order[i - 1]]:
                    brain_csr_open(&data.sources, sources[at], i)
                add_edge(data, sources[at], targets[at], weights[at], evidence[at])
            failed = brain_csr_seal(&data.sources, n)
    free(order)
    if failed:
        raise MemoryError
    return new


cdef bint kept(const uint8_t *alive, uint32_t source, int32_t target,
               int32_t evidence) noexcept nogil:
    return ((evidence < 0 or alive[evidence]) and (target % 2 or alive[target // 2])
            and (source % 2 or alive[source // 2]))


cdef _Segment merge(Graph graph, const uint8_t[::1] alive):
    """One segment out of all, without edges of dead rows unless `alive` is None."""
    cdef Py_ssize_t n_parts = graph.n_parts, p, max_keys = 0
    cdef int64_t j
    cdef uint32_t key = 0
    cdef brain_edges *part
    cdef const uint8_t *keep = &alive[0] if alive is not None else NULL
    for p in range(n_parts):
        max_keys += graph.parts[p].sources.n_keys
    cdef _Segment new = new_segment(graph.n_edges, min(max_keys, graph.n_edges))
    cdef brain_edges *data = &new.data
    cdef const brain_csr **indexes = <const brain_csr **>malloc(n_parts * sizeof(void *))
    cdef Py_ssize_t *cursors = <Py_ssize_t *>calloc(n_parts, sizeof(Py_ssize_t))
    cdef int failed = indexes == NULL or cursors == NULL
    if not failed:
        with nogil:
            for p in range(n_parts):
                indexes[p] = &graph.parts[p].sources
            while brain_csr_smallest(indexes, cursors, n_parts, &key):
                brain_csr_open(&data.sources, key, data.n_edges)
                for p in range(n_parts):
                    part = graph.parts[p]
                    if (cursors[p] == part.sources.n_keys
                            or brain_csr_key(&part.sources, cursors[p]) != key):
                        continue
                    for j in range(part.sources.indptr[cursors[p]],
                                   part.sources.indptr[cursors[p] + 1]):
                        if keep == NULL or kept(keep, key, part.targets[j], part.evidence[j]):
                            add_edge(data, key, part.targets[j], part.weights[j],
                                     part.evidence[j])
                    cursors[p] += 1
            failed = brain_csr_seal(&data.sources, data.n_edges)
    free(indexes)
    free(cursors)
    if failed:
        raise MemoryError
    return new


cdef int check_rows(Graph graph, Py_ssize_t n_rows) except -1:
    if graph.largest_row >= n_rows:
        raise ValueError(f"the graph has row {graph.largest_row}, but there are {n_rows} rows")
    return 0


def neighbors(Graph graph not None, Py_ssize_t node, const uint8_t[::1] visible):
    """Edges out of a node that may be walked, in the order of their appending.

    Parameters
    ----------
    graph : Graph
    node : int
    visible : uint8 array, shape (n_rows,)
        An edge counts if its evidence, when it has any, and its target, when it is a passage,
        are visible.

    Returns
    -------
    targets : int32 array, shape (e,)
    weights : float32 array, shape (e,)
    evidence : int32 array, shape (e,)

    Raises
    ------
    ValueError
        `node` is negative, or a row of the graph is outside `visible`.
    """
    cdef int64_t start, end, j
    cdef Py_ssize_t p, n = 0
    cdef brain_edges *part
    cdef const uint8_t *mask = &visible[0] if visible.shape[0] else NULL
    check_rows(graph, visible.shape[0])
    if node < 0:
        raise ValueError(f"node {node} is negative")
    if node <= graph.largest_node:
        for p in range(graph.n_parts):
            part = graph.parts[p]
            brain_csr_find(&part.sources, <uint32_t>node, &start, &end)
            for j in range(start, end):
                n += brain_edge_visible(part, j, mask)
    target_array, weight_array = np.empty(n, np.int32), np.empty(n, np.float32)
    evidence_array = np.empty(n, np.int32)
    if n == 0:
        return target_array, weight_array, evidence_array
    cdef int32_t[::1] targets = target_array, evidence = evidence_array
    cdef float[::1] weights = weight_array
    n = 0
    for p in range(graph.n_parts):
        part = graph.parts[p]
        brain_csr_find(&part.sources, <uint32_t>node, &start, &end)
        for j in range(start, end):
            if brain_edge_visible(part, j, mask):
                targets[n] = part.targets[j]
                weights[n] = part.weights[j]
                evidence[n] = part.evidence[j]
                n += 1
    return target_array, weight_array, evidence_array


def count_mentions(Graph graph not None, const uint8_t[::1] visible, Py_ssize_t n_entities):
    """Visible passages that mention each entity: int32 array, shape (n_entities,).

    Parameters
    ----------
    graph : Graph
    visible : uint8 array, shape (n_rows,)
    n_entities : int

    Raises
    ------
    ValueError
        A row of the graph is outside `visible`, or an entity of it is not among `n_entities`.
    """
    cdef Py_ssize_t p, i
    cdef int64_t start, end, j
    cdef int32_t row, index, largest = -1
    cdef brain_edges *part
    check_rows(graph, visible.shape[0])
    count_array = np.zeros(max(n_entities, 0), np.int32)
    cdef int32_t[::1] counts = count_array
    with nogil:
        for p in range(graph.n_parts):
            part = graph.parts[p]
            for i in range(part.sources.n_keys):
                row = <int32_t>brain_csr_key(&part.sources, i)
                start, end = part.sources.indptr[i], part.sources.indptr[i + 1]
                # A key without entries may lie beyond the rows.
                if start == end or row % 2 or not visible[row // 2]:
                    continue
                for j in range(start, end):
                    index = part.targets[j] // 2
                    if part.targets[j] % 2:
                        largest = max(largest, index)
                        if index < counts.shape[0]:
                            counts[index] += 1
    if largest >= n_entities:
        raise ValueError(f"the graph has entity {largest}, but there are {n_entities} entities")
    return count_array


@cython.final
cdef class _Walk:
    """Owner of the scratch of one `topk_ppr` call."""

    cdef brain_walk data

    def __dealloc__(self):
        brain_walk_free(&self.data)


# Walks at rest, at most as many as there have been calls at one time.  A call that fails
# does not bring its own back.
cdef list idle = []


def topk_ppr(Graph graph not None, const int32_t[::1] seeds, const double[::1] seed_weights,
             const float[::1] node_factors, const uint8_t[::1] visible, double damping=0.5,
             double epsilon=1e-5, Py_ssize_t k=100, Py_ssize_t max_pushes=100_000):
    """Best passages by personalised PageRank from seed nodes, by forward push.

    A walk follows an edge with the probability ``weight * node_factors[target]``, normalised
    over the edges of the node that count: those whose evidence and target are visible, and
    whose target has a positive, finite factor.  With probability ``1 - damping``, and always
    where no edge counts, it restarts at a seed.

    A node is pushed while its residual exceeds `epsilon` times its number of counting edges
    (at least 1), in rounds, so that the order of nodes and edges has no part in the result; what
    the order of float additions leaves is rounded away.  What remains unpushed adds the share
    that stays, so a score is a lower bound (up to the constant that restarts account for), and
    all scores together lack at most ``damping`` times the residuals.

    Parameters
    ----------
    graph : Graph
    seeds : int32 array, shape (s,)
        Nodes; invisible passages are ignored, repeated ones add up.
    seed_weights : float64 array, shape (s,)
        Not negative; normalised here.
    node_factors : float32 array, shape (n_nodes,)
        Damps edges into hubs.
    visible : uint8 array, shape (n_rows,)
    damping : float
        0 <= damping < 1.
    epsilon : float
        Above 0.
    k : int
        At least 1.
    max_pushes : int
        Bound on the work, at least 1; the round under way is finished.

    Returns
    -------
    rows : int32 array, shape (m,), m <= k
        Visible passages only.
    scores : float64 array, shape (m,)
        Best first, ties by row ascending.
    path_indptr : int32 array, shape (m + 1,)
    path_nodes : int32 array
        ``path_nodes[path_indptr[i]:path_indptr[i + 1]]`` are the nodes through which mass
        first came from a seed to hit ``i``, both included; of several ways the most given.

    Raises
    ------
    ValueError
        Lengths disagree, a node or row is outside them, or a number is out of its range.

    References
    ----------
    Andersen, Chung and Lang, Local Graph Partitioning using PageRank Vectors, FOCS 2006.
    """
    cdef Py_ssize_t n_seeds = seeds.shape[0], n_nodes = node_factors.shape[0], i
    cdef Py_ssize_t n_rows = visible.shape[0]
    cdef double total = 0
    cdef int32_t slot
    cdef int failed = 0
    cdef brain_topk top
    if seed_weights.shape[0] != n_seeds:
        raise ValueError(f"{seed_weights.shape[0]} weights for {n_seeds} seeds")
    check_rows(graph, n_rows)
    if graph.largest_node >= n_nodes:
        raise ValueError(f"the graph has node {graph.largest_node}, but there are {n_nodes}"
                         " node factors")
    if not (0 <= damping < 1 and epsilon > 0 and isfinite(epsilon)):
        raise ValueError(f"damping is {damping} and epsilon {epsilon}: 0 <= damping < 1 and"
                         " epsilon > 0 are needed")
    if k < 1 or max_pushes < 1:
        raise ValueError(f"k is {k} and max_pushes {max_pushes}: at least 1 is needed")
    for i in range(n_seeds):
        if (seeds[i] < 0 or seeds[i] >= n_nodes
                or (seeds[i] % 2 == 0 and seeds[i] // 2 >= n_rows)):
            raise ValueError(f"seed {seeds[i]} is outside {n_nodes} nodes and {n_rows} rows")
        if not (seed_weights[i] >= 0 and isfinite(seed_weights[i])):
            raise ValueError(f"weight {seed_weights[i]} of seed {seeds[i]}: it must be finite"
                             " and not negative")
        if seeds[i] % 2 or visible[seeds[i] // 2]:
            total += seed_weights[i]
    if total == 0 or not isfinite(total):
        return (np.empty(0, np.int32), np.empty(0, np.float64), np.zeros(1, np.int32),
                np.empty(0, np.int32))
    cdef brain_terrain terrain
    terrain.parts = graph.parts
    terrain.n_parts = graph.n_parts
    terrain.factors = &node_factors[0]
    terrain.visible = &visible[0] if n_rows else NULL
    terrain.damping = damping
    terrain.epsilon = epsilon
    cdef _Walk scratch = idle.pop() if idle else _Walk()
    cdef brain_walk *walk = &scratch.data
    top.count = 0
    top.hits = NULL
    try:
        with nogil:
            failed = brain_walk_begin(walk, n_nodes)
            for i in range(n_seeds):
                if failed:
                    break
                if seed_weights[i] > 0 and (seeds[i] % 2 or visible[seeds[i] // 2]):
                    slot = brain_walk_slot(walk, seeds[i])
                    if slot < 0:
                        failed = 1
                    else:
                        brain_walk_give(walk, slot, seed_weights[i] / total, BRAIN_SEED, epsilon)
            if not failed:
                failed = brain_walk_push(walk, &terrain, max_pushes)
            top.capacity = min(k, walk.n_states)
            top.hits = <brain_hit *>malloc((top.capacity + 1) * sizeof(brain_hit))
            if not failed and top.hits != NULL:
                select(walk, 1 - damping, &top)
        if failed or top.hits == NULL:
            raise MemoryError
        hits = take(walk, &top)
        brain_walk_end(walk)
        idle.append(scratch)
        return hits
    finally:
        free(top.hits)


# Scores are multiples of its inverse: float addition in another order changes less than that.
cdef double RESOLUTION = 2.0 ** 36


cdef void select(const brain_walk *walk, double staying, brain_topk *top) noexcept nogil:
    """The best passages that mass has come to."""
    cdef Py_ssize_t i
    cdef double score
    cdef const brain_walk_node *state
    for i in range(walk.n_states):
        state = &walk.states[i]
        if state.node % 2 or state.parent == BRAIN_UNTOUCHED:
            continue
        score = (state.estimate + staying * state.residual) / (1 - walk.leaked)
        score = rint(score * RESOLUTION) / RESOLUTION
        if score > 0 and score >= brain_topk_threshold(top):
            brain_topk_push(top, score, state.node // 2)
    brain_topk_sort(top)


cdef object take(const brain_walk *walk, const brain_topk *top):
    """Copy sorted hits and their paths into the result arrays."""
    cdef Py_ssize_t i, m = top.count
    cdef int32_t slot, at, n = 0
    rows, scores = np.empty(m, np.int32), np.empty(m, np.float64)
    indptr = np.zeros(m + 1, np.int32)
    cdef int32_t[::1] row_view = rows, indptr_view = indptr
    cdef double[::1] score_view = scores
    for i in range(m):
        row_view[i] = top.hits[i].row
        score_view[i] = top.hits[i].score
        slot = walk.slot_of[2 * top.hits[i].row] - 1
        while slot >= 0:
            n += 1
            slot = walk.states[slot].parent
        indptr_view[i + 1] = n
    nodes = np.empty(n, np.int32)
    cdef int32_t[::1] node_view = nodes
    for i in range(m):
        slot, at = walk.slot_of[2 * top.hits[i].row] - 1, indptr_view[i + 1]
        while slot >= 0:
            at -= 1
            node_view[at] = walk.states[slot].node
            slot = walk.states[slot].parent
    return rows, scores, indptr, nodes
