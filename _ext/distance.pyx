"""Vector kernels: pooling, quantization and exact or bit-filtered top-k scans.

Arrays in, arrays out; which rows are visible and how many hits are wanted is decided above.
The loops are in ``kernels.c``, in SIMD tiers that give bit-identical results.
"""

from libc.math cimport isfinite, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

import numpy as np

cdef extern from "kernels.h" nogil:
    enum:
        BRAIN_MAX_DIM
        BRAIN_QUERY_PLANES
    ctypedef struct brain_hit:
        double score
        int32_t row
    ctypedef struct brain_topk:
        brain_hit *hits
        Py_ssize_t capacity
        Py_ssize_t count
    ctypedef struct brain_vectors:
        const int8_t *matrix
        const float *scales
        const uint64_t *bits
        const uint8_t *mask
        Py_ssize_t n_rows
        Py_ssize_t dim
    int brain_tier_count()
    const char *brain_tier_name(int tier)
    int brain_tier_current()
    void brain_tier_select(int tier)
    void brain_topk_push(brain_topk *top, double score, int32_t row)
    void brain_topk_sort(brain_topk *top)
    void brain_topk_int8(const brain_vectors *vectors, const int8_t *query, double query_scale,
                         brain_topk *top)
    Py_ssize_t brain_best_by_bits(const brain_vectors *vectors, const uint64_t *planes,
                                  Py_ssize_t n_wanted, int64_t *keys)
    Py_ssize_t BRAIN_KEYS(Py_ssize_t n_wanted)
    int32_t BRAIN_KEY_ROW(int64_t key)
    void brain_query_planes(const int8_t *query, Py_ssize_t dim, uint64_t *planes)
    void brain_score_rows(const brain_vectors *vectors, const int8_t *query, double query_scale,
                          const int32_t *rows, Py_ssize_t n_rows, double *scores)
    void brain_pack_bits(const int8_t *matrix, Py_ssize_t n_values, uint64_t *bits)
    void brain_add_row_int8(float *total, const int8_t *row, float weight, Py_ssize_t dim)
    void brain_add_row_float(float *total, const float *row, float weight, Py_ssize_t dim)

ctypedef fused table_type:
    int8_t
    float

ctypedef fused id_type:
    int32_t
    int64_t


def simd_tiers():
    """Names of the SIMD tiers that this CPU runs, weakest first."""
    return tuple(brain_tier_name(i).decode() for i in range(brain_tier_count()))


def simd_tier():
    """Name of the SIMD tier in use; at import the strongest one."""
    return brain_tier_name(brain_tier_current()).decode()


def set_simd_tier(str name not None):
    """Use another SIMD tier, process-wide; results do not change by a bit.

    Raises
    ------
    ValueError
        `name` is not in ``simd_tiers()``.
    """
    tiers = simd_tiers()
    if name not in tiers:
        raise ValueError(f"SIMD tier {name!r} is not one of {', '.join(tiers)}")
    brain_tier_select(tiers.index(name))


def pool(const table_type[:, ::1] table, const id_type[::1] ids, const float[::1] weights=None):
    """Mean of the named rows of an embedding table, L2-normalised.

    Parameters
    ----------
    table : int8 or float32 array, shape (n_tokens, dim)
    ids : int32 or int64 array, shape (n,)
    weights : float32 array, shape (n_tokens,), optional
        Factor of each token's row.

    Returns
    -------
    float32 array, shape (dim,)
        ``mean / (norm(mean) + 1e-32)``; zeros when `ids` is empty.

    Raises
    ------
    ValueError
        An id is outside the table, or `weights` has another length.
    """
    cdef Py_ssize_t n_tokens = table.shape[0], dim = table.shape[1], n = ids.shape[0]
    cdef Py_ssize_t i, j
    cdef float weight, divisor = <float>n
    cdef double squares = 0
    check_tokens(ids, weights, n_tokens)
    output = np.zeros(dim, np.float32)
    if n == 0 or dim == 0:
        return output
    cdef float[::1] total = output
    cdef const float *factors = &weights[0] if weights is not None and n_tokens > 0 else NULL
    # Shorter than what it costs to give the interpreter away and wait for it.
    for i in range(n):
        weight = factors[ids[i]] if factors != NULL else <float>1
        if table_type is int8_t:
            brain_add_row_int8(&total[0], &table[ids[i], 0], weight, dim)
        else:
            brain_add_row_float(&total[0], &table[ids[i], 0], weight, dim)
    for j in range(dim):
        total[j] = total[j] / divisor
        squares += <double>total[j] * total[j]
    divisor = <float>sqrt(squares) + <float>1e-32
    for j in range(dim):
        total[j] = total[j] / divisor
    return output


def length(const table_type[:, ::1] table, const id_type[::1] ids, const float[::1] weights=None):
    """Length of the sum of the named rows of an embedding table.

    The parameters are those of `pool`.

    Returns
    -------
    float
        In double precision, added in one order: the same bits on every machine.

    Raises
    ------
    ValueError
        As `pool`.
    """
    cdef Py_ssize_t n_tokens = table.shape[0], dim = table.shape[1], n = ids.shape[0]
    cdef Py_ssize_t i, j
    cdef double total, squares = 0
    check_tokens(ids, weights, n_tokens)
    for j in range(dim):
        total = 0
        for i in range(n):
            if weights is None:
                total += <double>table[ids[i], j]
            else:
                total += <double>table[ids[i], j] * weights[ids[i]]
        squares += total * total
    return sqrt(squares)


cdef int check_tokens(const id_type[::1] ids, const float[::1] weights,
                      Py_ssize_t n_tokens) except -1:
    cdef Py_ssize_t i
    if weights is not None and weights.shape[0] != n_tokens:
        raise ValueError(f"{weights.shape[0]} weights for a table of {n_tokens} rows")
    for i in range(ids.shape[0]):
        if ids[i] < 0 or ids[i] >= n_tokens:
            raise ValueError(f"id {ids[i]} is outside a table of {n_tokens} rows")
    return 0


def quantize_int8(const float[::1] x):
    """Quantize a vector symmetrically to int8.

    Parameters
    ----------
    x : float32 array, shape (dim,)

    Returns
    -------
    values : int8 array, shape (dim,)
        ``x / scale`` rounded half to even, in -127..127.
    scale : float
        ``max(abs(x)) / 127`` in float32 precision. Zeros and 0.0 when `x` is zero, has a
        value that is not finite, or is too small for a scale.
    """
    cdef Py_ssize_t dim = x.shape[0]
    output = np.zeros(dim, np.int8)
    if dim == 0:
        return output, 0.0
    cdef int8_t[::1] values = output
    return output, <double>quantize(&x[0], dim, &values[0])


cdef float quantize(const float *x, Py_ssize_t dim, int8_t *values) noexcept nogil:
    """Fill `values`, which hold zeros, and give the scale."""
    cdef Py_ssize_t j
    cdef float largest = 0, scale
    cdef double value
    # Adding and subtracting 1.5 * 2**52 rounds half to even.
    cdef double shift = 6755399441055744.0
    for j in range(dim):
        if not isfinite(x[j]):
            return 0
        largest = max(largest, abs(x[j]))
    scale = largest / 127
    if scale == 0:
        return 0
    for j in range(dim):
        value = (<double>x[j] / scale + shift) - shift
        values[j] = <int8_t>max(-127.0, min(127.0, value))
    return scale


def add_rows(const float[::1] query, const int8_t[:, ::1] matrix, const float[::1] scales,
             const int32_t[::1] rows, const float[::1] weights):
    """Quantize the sum of a vector and the weighted mean of rows.

    Parameters
    ----------
    query : float32 array, shape (dim,)
    matrix, scales
        As in :func:`topk_int8`.
    rows : int32 array, shape (m,)
    weights : float32 array, shape (m,)
        Their sum is positive.

    Returns
    -------
    values : int8 array, shape (dim,)
    scale : float
        ``values * scale`` is of unit length; 0.0 when all values are 0.

    Raises
    ------
    ValueError
        Shapes disagree, or a row is outside the matrix.
    """
    cdef Py_ssize_t i, j, dim = query.shape[0], m = rows.shape[0]
    cdef int64_t squares = 0
    cdef float total = 0
    cdef brain_vectors vectors = describe(matrix, scales, np.zeros(dim, np.int8), 0.0, None)
    if weights.shape[0] != m:
        raise ValueError(f"{weights.shape[0]} weights for {m} rows")
    check_rows(&vectors, rows)
    output = np.zeros(dim, np.int8)
    cdef int8_t[::1] values = output
    cdef float *mean = <float *>calloc(dim, sizeof(float))
    if mean == NULL:
        raise MemoryError
    with nogil:
        for i in range(m):
            total += weights[i]
        for i in range(m):
            brain_add_row_int8(mean, vectors.matrix + rows[i] * dim,
                               weights[i] * (vectors.scales[rows[i]] / total), dim)
        for j in range(dim):
            mean[j] += query[j]
        quantize(mean, dim, &values[0])
        for j in range(dim):
            squares += values[j] * values[j]
    free(mean)
    # A norm of integers: the same bits on every machine.
    return output, 1.0 / sqrt(squares) if squares else 0.0


def pack_bits(const int8_t[:, ::1] q):
    """Sign bits of int8 vectors.

    Parameters
    ----------
    q : int8 array, shape (n_rows, dim)
        `dim` is a multiple of 64.

    Returns
    -------
    uint64 array, shape (n_rows, dim // 64)
        Bit ``j`` of word ``w`` is ``q[64 * w + j] > 0``.

    Raises
    ------
    ValueError
        `dim` is not a multiple of 64 from 64 to 65,536.
    """
    cdef Py_ssize_t n_rows = q.shape[0], dim = q.shape[1]
    check_dim(dim)
    output = np.empty((n_rows, dim // 64), np.uint64)
    if n_rows == 0:
        return output
    cdef uint64_t[:, ::1] bits = output
    with nogil:
        brain_pack_bits(&q[0, 0], n_rows * dim, &bits[0, 0])
    return output


def topk_int8(const int8_t[:, ::1] matrix, const float[::1] scales, const int8_t[::1] query,
              double query_scale, Py_ssize_t k, const uint8_t[::1] mask=None):
    """Exact top-k by cosine over int8 vectors.

    Parameters
    ----------
    matrix : int8 array, shape (n_rows, dim)
        Quantized unit vectors; `dim` is a multiple of 64.
    scales : float32 array, shape (n_rows,)
        A row with scale 0 has no direction and never appears.
    query : int8 array, shape (dim,)
    query_scale : float
        0 means a query without direction: no hits.
    k : int
        At least 1.
    mask : uint8 array, shape (n_rows,), optional
        Rows with 0 never appear.

    Returns
    -------
    rows : int32 array, shape (m,), m <= k
    scores : float64 array, shape (m,)
        ``dot * scales[row] * query_scale`` with an exact integer dot product; best first,
        ties by row ascending.

    Raises
    ------
    ValueError
        Shapes disagree, `dim` is not a multiple of 64 from 64 to 65,536, `k` is below 1, or
        `query_scale` is negative or not finite.
    """
    cdef brain_vectors vectors = describe(matrix, scales, query, query_scale, mask)
    cdef brain_topk top
    check_k(k)
    if vectors.n_rows == 0 or query_scale == 0:
        return empty_hits()
    allocate(&top, min(k, vectors.n_rows))
    try:
        with nogil:
            brain_topk_int8(&vectors, &query[0], query_scale, &top)
            brain_topk_sort(&top)
        return take_hits(&top)
    finally:
        free(top.hits)


def topk_bits(const uint64_t[:, ::1] bits, const int8_t[:, ::1] matrix,
              const float[::1] scales, const int8_t[::1] query, double query_scale,
              Py_ssize_t k, Py_ssize_t candidates, const uint8_t[::1] mask=None):
    """Top-k by cosine among the best candidates of a scan over sign bits.

    The query is split into four bit planes, so a row's bits give an asymmetric estimate of
    its dot product; the best `candidates` by it (ties by row ascending) are scored exactly.
    Reads ``dim / 8`` bytes a row instead of `dim`.

    Parameters
    ----------
    bits : uint64 array, shape (n_rows, dim // 64)
        ``pack_bits(matrix)``.
    matrix, scales, query, query_scale, k, mask
        As in :func:`topk_int8`.
    candidates : int
        At least 1; raised to `k`. From `n_rows` on the result is that of :func:`topk_int8`.

    Returns
    -------
    rows : int32 array, shape (m,), m <= k
    scores : float64 array, shape (m,)
        As in :func:`topk_int8`.

    Raises
    ------
    ValueError
        As in :func:`topk_int8`, or `candidates` is below 1.

    References
    ----------
    Gao and Long, RaBitQ: Quantizing High-Dimensional Vectors with a Theoretical Error Bound
    for Approximate Nearest Neighbor Search, SIGMOD 2024.
    """
    cdef brain_vectors vectors = describe(matrix, scales, query, query_scale, mask)
    cdef brain_topk top
    cdef Py_ssize_t i, n_kept, n_words = vectors.dim // 64
    check_k(k)
    if candidates < 1:
        raise ValueError(f"candidates is {candidates}: at least 1 is needed")
    if bits.shape[0] != vectors.n_rows or bits.shape[1] != n_words:
        raise ValueError(f"bits of shape ({bits.shape[0]}, {bits.shape[1]}) for a matrix of"
                         f" shape ({vectors.n_rows}, {vectors.dim})")
    if vectors.n_rows == 0 or query_scale == 0:
        return empty_hits()
    vectors.bits = &bits[0, 0]
    k = min(k, vectors.n_rows)
    candidates = min(max(candidates, k), vectors.n_rows)
    cdef uint64_t *planes = NULL
    cdef int64_t *keys = NULL
    cdef int32_t *rows = NULL
    cdef double *scores = NULL
    top.hits = NULL
    try:
        allocate(&top, k)
        planes = <uint64_t *>malloc(BRAIN_QUERY_PLANES * n_words * sizeof(uint64_t))
        keys = <int64_t *>malloc(BRAIN_KEYS(candidates) * sizeof(int64_t))
        rows = <int32_t *>malloc(candidates * sizeof(int32_t))
        scores = <double *>malloc(candidates * sizeof(double))
        if planes == NULL or keys == NULL or rows == NULL or scores == NULL:
            raise MemoryError
        with nogil:
            brain_query_planes(&query[0], vectors.dim, planes)
            n_kept = brain_best_by_bits(&vectors, planes, candidates, keys)
            for i in range(n_kept):
                rows[i] = BRAIN_KEY_ROW(keys[i])
            brain_score_rows(&vectors, &query[0], query_scale, rows, n_kept, scores)
            for i in range(n_kept):
                if scores[i] == scores[i]:
                    brain_topk_push(&top, scores[i], rows[i])
            brain_topk_sort(&top)
        return take_hits(&top)
    finally:
        free(top.hits)
        free(planes)
        free(keys)
        free(rows)
        free(scores)


def score_rows(const int8_t[:, ::1] matrix, const float[::1] scales, const int8_t[::1] query,
               double query_scale, const int32_t[::1] rows):
    """Exact cosine of named rows.

    Parameters
    ----------
    matrix, scales, query, query_scale
        As in :func:`topk_int8`.
    rows : int32 array, shape (m,)

    Returns
    -------
    float64 array, shape (m,)
        0.0 where the row or the query has scale 0.

    Raises
    ------
    ValueError
        As in :func:`topk_int8`, or a row is outside the matrix.
    """
    cdef brain_vectors vectors = describe(matrix, scales, query, query_scale, None)
    cdef Py_ssize_t m = rows.shape[0]
    check_rows(&vectors, rows)
    output = np.empty(m, np.float64)
    if m == 0:
        return output
    cdef double[::1] scores = output
    with nogil:
        brain_score_rows(&vectors, &query[0], query_scale, &rows[0], m, &scores[0])
    return output


cdef brain_vectors describe(const int8_t[:, ::1] matrix, const float[::1] scales,
                            const int8_t[::1] query, double query_scale,
                            const uint8_t[::1] mask) except *:
    """Check the arrays that every scan takes and point at them."""
    cdef brain_vectors vectors
    cdef Py_ssize_t n_rows = matrix.shape[0], dim = matrix.shape[1]
    check_dim(dim)
    if query.shape[0] != dim:
        raise ValueError(f"query of {query.shape[0]} dimensions for a matrix of {dim}")
    if scales.shape[0] != n_rows:
        raise ValueError(f"{scales.shape[0]} scales for a matrix of {n_rows} rows")
    if mask is not None and mask.shape[0] != n_rows:
        raise ValueError(f"mask of {mask.shape[0]} for a matrix of {n_rows} rows")
    if n_rows > 0x7fffffff:
        raise ValueError(f"{n_rows} rows: a row must fit int32")
    if not isfinite(query_scale) or query_scale < 0:
        raise ValueError(f"query_scale is {query_scale}: it must be finite and not negative")
    vectors.n_rows = n_rows
    vectors.dim = dim
    vectors.matrix = &matrix[0, 0] if n_rows else NULL
    vectors.scales = &scales[0] if n_rows else NULL
    vectors.mask = &mask[0] if mask is not None and n_rows else NULL
    vectors.bits = NULL
    return vectors


cdef int check_rows(const brain_vectors *vectors, const int32_t[::1] rows) except -1:
    cdef Py_ssize_t i
    for i in range(rows.shape[0]):
        if rows[i] < 0 or rows[i] >= vectors.n_rows:
            raise ValueError(f"row {rows[i]} is outside a matrix of {vectors.n_rows} rows")
    return 0


cdef int check_dim(Py_ssize_t dim) except -1:
    if dim < 64 or dim % 64 or dim > BRAIN_MAX_DIM:
        raise ValueError(f"dim is {dim}: a multiple of 64 from 64 to {BRAIN_MAX_DIM} is needed")
    return 0


cdef int check_k(Py_ssize_t k) except -1:
    if k < 1:
        raise ValueError(f"k is {k}: at least 1 is needed")
    return 0


cdef int allocate(brain_topk *top, Py_ssize_t capacity) except -1:
    top.hits = <brain_hit *>malloc(capacity * sizeof(brain_hit))
    if top.hits == NULL:
        raise MemoryError
    top.capacity = capacity
    top.count = 0
    return 0


cdef object empty_hits():
    return np.empty(0, np.int32), np.empty(0, np.float64)


cdef object take_hits(const brain_topk *top):
    """Copy sorted hits into the two result arrays."""
    cdef Py_ssize_t i
    rows, scores = np.empty(top.count, np.int32), np.empty(top.count, np.float64)
    cdef int32_t[::1] row_view = rows
    cdef double[::1] score_view = scores
    for i in range(top.count):
        row_view[i] = top.hits[i].row
        score_view[i] = top.hits[i].score
    return rows, scores
