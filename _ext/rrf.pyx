"""Reciprocal rank fusion of ranked rows.

Ranks in, one ranking out; which legs run and what they rank is decided above.
"""

from libc.math cimport isfinite
from libc.stdint cimport int32_t, uint32_t
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
    void brain_topk_sort(brain_topk *top)

# A row in the hash table; its ranks by leg are kept apart, under the same slot.
ctypedef struct candidate:
    double score
    int32_t row


def fuse(list rankings not None, Py_ssize_t k, double rrf_k=60.0):
    """Fuse rankings by reciprocal rank.

    Parameters
    ----------
    rankings : list of int32 arrays, each of shape (n,)
        One a leg: distinct rows, best first.  A leg may be empty.
    k : int
        Number of hits, at least 1.
    rrf_k : float
        Damps the lead of the first ranks; 0 or more.

    Returns
    -------
    rows : int32 array, shape (m,), m <= k
    scores : float64 array, shape (m,)
        ``sum(1 / (rrf_k + rank))`` over the legs that list the row, in the order of
        `rankings`.  Best first, ties by row ascending.
    ranks : int32 array, shape (m, n_legs)
        From 1; 0 = the leg does not list the row.

    Raises
    ------
    ValueError
        `k` is below 1, `rrf_k` is negative or not finite, or a leg lists a row twice or a
        negative one.

    References
    ----------
    Cormack, Clarke and Buettcher, Reciprocal Rank Fusion outperforms Condorcet and individual
    Rank Learning Methods, SIGIR 2009.
    """
    cdef Py_ssize_t n_legs = len(rankings), n_listed = 0, leg, i, n
    cdef const int32_t[::1] ranking
    cdef size_t n_slots = 16, at
    cdef brain_topk top
    cdef int32_t wrong = -1
    if k < 1:
        raise ValueError(f"k is {k}: at least 1 is needed")
    if not isfinite(rrf_k) or rrf_k < 0:
        raise ValueError(f"rrf_k is {rrf_k}: it must be finite and not negative")
    for leg in range(n_legs):
        n_listed += len(rankings[leg])
    if n_listed > 0x7fffffff:
        raise ValueError(f"{n_listed} listed rows: a rank must fit int32")
    while n_slots < 2 * <size_t>n_listed:
        n_slots *= 2
    cdef candidate *slots = <candidate *>malloc(n_slots * sizeof(candidate))
    cdef int32_t *ranks = <int32_t *>calloc(n_slots * max(n_legs, 1), sizeof(int32_t))
    top.count = 0
    top.capacity = min(k, n_listed)
    top.hits = <brain_hit *>malloc((top.capacity + 1) * sizeof(brain_hit))
    try:
        if slots == NULL or ranks == NULL or top.hits == NULL:
            raise MemoryError
        for at in range(n_slots):
            slots[at].row = -1
        for leg in range(n_legs):
            ranking = rankings[leg]
            n = ranking.shape[0]
            with nogil:
                for i in range(n):
                    at = find(slots, n_slots, ranking[i])
                    if ranking[i] < 0 or ranks[at * n_legs + leg]:
                        wrong = <int32_t>i
                        break
                    if slots[at].row < 0:
                        slots[at].row = ranking[i]
                        slots[at].score = 0
                    ranks[at * n_legs + leg] = <int32_t>(i + 1)
                    slots[at].score += 1 / (rrf_k + (i + 1))
            if wrong >= 0:
                raise ValueError(f"leg {leg} lists row {ranking[wrong]} at rank {wrong + 1}:"
                                 " rows must be distinct and not negative")
        with nogil:
            for at in range(n_slots):
                if slots[at].row >= 0:
                    brain_topk_push(&top, slots[at].score, slots[at].row)
            brain_topk_sort(&top)
        return take(&top, slots, n_slots, ranks, n_legs)
    finally:
        free(slots)
        free(ranks)
        free(top.hits)


cdef size_t find(const candidate *slots, size_t n_slots, int32_t row) noexcept nogil:
    """The slot that holds the row, or the free one where it belongs."""
    cdef size_t at = (<uint32_t>row * <uint32_t>0x9e3779b1) & (n_slots - 1)
    while slots[at].row >= 0 and slots[at].row != row:
        at = (at + 1) & (n_slots - 1)
    return at


cdef object take(const brain_topk *top, const candidate *slots, size_t n_slots,
                 const int32_t *ranks, Py_ssize_t n_legs):
    """Copy sorted hits into the result arrays."""
    cdef Py_ssize_t i, leg, m = top.count
    cdef size_t at
    rows, scores = np.empty(m, np.int32), np.empty(m, np.float64)
    by_leg = np.empty((m, n_legs), np.int32)
    cdef int32_t[::1] row_view = rows
    cdef double[::1] score_view = scores
    cdef int32_t[:, ::1] rank_view = by_leg
    for i in range(m):
        row_view[i] = top.hits[i].row
        score_view[i] = top.hits[i].score
        at = find(slots, n_slots, top.hits[i].row)
        for leg in range(n_legs):
            rank_view[i, leg] = ranks[at * n_legs + leg]
    return rows, scores, by_leg
