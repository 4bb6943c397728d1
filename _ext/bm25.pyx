"""Lexical kernels: immutable postings and BM25 top-k.

Scores follow FTS5's bm25(), which is their oracle; what is visible and what a query means is
decided above.
"""

cimport cython
from libc.math cimport isfinite, log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr

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

# A segment is merged into the newer one beside it when it is at most MERGE_RATIO times as
# large, or small: so their number is logarithmic, and an append is cheap on average.
cdef enum:
    MERGE_RATIO = 3
    SMALL_SEGMENT = 4096
    NORM_TABLE = 1024
    MAX_SEGMENTS = 64                # the merge rule keeps far below
    LISTED = 256                     # dead rows up to which a term's are looked up, not counted


ctypedef struct segment:
    brain_csr terms
    int32_t *rows                    # ascending within a term
    uint16_t *tfs
    int64_t n_postings
    int32_t first_row
    int32_t last_row


@cython.final
cdef class _Segment:
    """Owner of one immutable run of postings."""

    cdef segment data

    def __dealloc__(self):
        brain_csr_free(&self.data.terms)
        free(self.data.rows)
        free(self.data.tfs)


@cython.final
cdef class Postings:
    """Immutable postings: for each term id, the rows that hold it and how often.

    A list of segments over ascending, disjoint ranges of rows.  `append` and `compact` give
    new objects that share the segments they keep.
    """

    cdef tuple segments
    cdef segment **parts             # the data of `segments`
    cdef Py_ssize_t n_parts
    cdef int32_t last_row            # -1 = no postings
    cdef readonly int64_t n_postings

    def __cinit__(self):
        self.segments = ()
        self.last_row = -1

    def __dealloc__(self):
        free(self.parts)

    @property
    def n_segments(self):
        """Number of segments: logarithmic in `n_postings`."""
        return self.n_parts

    @property
    def nbytes(self):
        """Bytes of memory held, shared segments included."""
        cdef Py_ssize_t p
        cdef size_t total = 0
        for p in range(self.n_parts):
            total += brain_csr_nbytes(&self.parts[p].terms)
            total += self.parts[p].n_postings * (sizeof(int32_t) + sizeof(uint16_t))
        return total

    def append(self, const int32_t[::1] rows, const int64_t[::1] indptr,
               const uint32_t[::1] ids, const uint16_t[::1] tfs):
        """Postings with a batch of new documents.

        Parameters
        ----------
        rows : int32 array, shape (d,)
            Ascending, above every row with postings.
        indptr : int64 array, shape (d + 1,)
            Document ``i`` has the entries ``indptr[i]`` to ``indptr[i + 1]``.
        ids : uint32 array, shape (n,)
            Term ids, ascending within a document.
        tfs : uint16 array, shape (n,)
            Their frequencies, at least 1.

        Returns
        -------
        Postings
            This object is left as it is.

        Raises
        ------
        ValueError
            The above does not hold, or there are 2**32 entries or more.
        """
        cdef Py_ssize_t d = rows.shape[0], n = ids.shape[0], i
        cdef int64_t j
        cdef int32_t before = self.last_row
        if indptr.shape[0] != d + 1 or tfs.shape[0] != n:
            raise ValueError(f"indptr of {indptr.shape[0]} and {tfs.shape[0]} tfs for {d} rows"
                             f" and {n} ids")
        if indptr[0] != 0 or indptr[d] != n or n >= 0xffffffff:
            raise ValueError(f"indptr from {indptr[0]} to {indptr[d]} for {n} ids")
        for i in range(d):
            if rows[i] <= before:
                raise ValueError(f"row {rows[i]} after row {before}: rows must ascend")
            before = rows[i]
            if indptr[i] > indptr[i + 1] or indptr[i + 1] > n:
                raise ValueError("indptr must ascend")
            for j in range(indptr[i], indptr[i + 1]):
                if ids[j] > 0x7fffffff or (j > indptr[i] and ids[j] <= ids[j - 1]):
                    raise ValueError(f"term ids of row {rows[i]} must ascend and fit int32")
                if tfs[j] == 0:
                    raise ValueError(f"term id {ids[j]} of row {rows[i]} has frequency 0")
        if n == 0:
            return self
        cdef _Segment new = invert(rows, indptr, ids, tfs)
        cdef int64_t merged = n
        i = self.n_parts
        while i > 0 and (self.parts[i - 1].n_postings <= MERGE_RATIO * merged
                         or self.parts[i - 1].n_postings <= SMALL_SEGMENT):
            merged += self.parts[i - 1].n_postings
            i -= 1
        if i < self.n_parts:
            new = merge(from_segments((*self.segments[i:], new)), None)
        return from_segments((*self.segments[:i], new))

    def compact(self, const uint8_t[::1] alive):
        """Postings in one segment, without those of dead rows.

        Parameters
        ----------
        alive : uint8 array, shape (n_rows,)

        Raises
        ------
        ValueError
            A row with postings is outside `alive`.
        """
        check_rows(self, alive.shape[0])
        if self.n_parts == 0:
            return self
        cdef _Segment kept = merge(self, alive)
        return from_segments((kept,) if kept.data.n_postings else ())


cdef Postings from_segments(tuple segments):
    cdef Postings postings = Postings()
    cdef _Segment owner
    postings.parts = <segment **>malloc((len(segments) + 1) * sizeof(void *))
    if postings.parts == NULL:
        raise MemoryError
    postings.segments = segments
    for owner in segments:
        postings.parts[postings.n_parts] = &owner.data
        postings.n_parts += 1
        postings.n_postings += owner.data.n_postings
        postings.last_row = owner.data.last_row
    return postings


cdef _Segment new_segment(int64_t n_postings, Py_ssize_t max_keys):
    cdef _Segment new = _Segment()
    new.data.rows = <int32_t *>malloc((n_postings + 1) * sizeof(int32_t))
    new.data.tfs = <uint16_t *>malloc((n_postings + 1) * sizeof(uint16_t))
    if (new.data.rows == NULL or new.data.tfs == NULL
            or brain_csr_reserve(&new.data.terms, max_keys) < 0):
        raise MemoryError
    return new


cdef _Segment invert(const int32_t[::1] rows, const int64_t[::1] indptr,
                     const uint32_t[::1] ids, const uint16_t[::1] tfs):
    """One segment out of checked forward lists."""
    cdef Py_ssize_t d = rows.shape[0], n = ids.shape[0], i
    cdef int64_t j
    cdef _Segment new = new_segment(n, n)
    cdef segment *data = &new.data
    cdef uint32_t *order = <uint32_t *>malloc(2 * n * sizeof(uint32_t))
    cdef int32_t *row_of = <int32_t *>malloc(n * sizeof(int32_t))
    cdef int failed = order == NULL or row_of == NULL
    if not failed:
        with nogil:
            for i in range(d):
                for j in range(indptr[i], indptr[i + 1]):
                    row_of[j] = rows[i]
            brain_sort_by_key(&ids[0], <uint32_t>n, order, order + n)
            for i in range(n):
                if i == 0 or ids[order[i]] != ids[order[i - 1]]:
                    brain_csr_open(&data.terms, ids[order[i]], i)
                data.rows[i] = row_of[order[i]]
                data.tfs[i] = tfs[order[i]]
            data.n_postings = n
            data.first_row = row_of[0]
            data.last_row = row_of[n - 1]
            failed = brain_csr_seal(&data.terms, n)
    free(order)
    free(row_of)
    if failed:
        raise MemoryError
    return new


cdef _Segment merge(Postings postings, const uint8_t[::1] alive):
    """One segment out of all, without dead rows unless `alive` is None."""
    cdef Py_ssize_t n_parts = postings.n_parts, p, max_keys = 0
    cdef int64_t j, n = 0
    cdef uint32_t key = 0
    cdef segment *part
    cdef const uint8_t *keep = &alive[0] if alive is not None else NULL
    for p in range(n_parts):
        max_keys += postings.parts[p].terms.n_keys
    cdef _Segment new = new_segment(postings.n_postings, min(max_keys, postings.n_postings))
    cdef segment *data = &new.data
    cdef const brain_csr **indexes = <const brain_csr **>malloc(n_parts * sizeof(void *))
    cdef Py_ssize_t *cursors = <Py_ssize_t *>calloc(n_parts, sizeof(Py_ssize_t))
    cdef int failed = indexes == NULL or cursors == NULL
    if not failed:
        with nogil:
            for p in range(n_parts):
                indexes[p] = &postings.parts[p].terms
            while brain_csr_smallest(indexes, cursors, n_parts, &key):
                brain_csr_open(&data.terms, key, n)
                for p in range(n_parts):
                    part = postings.parts[p]
                    if (cursors[p] == part.terms.n_keys
                            or brain_csr_key(&part.terms, cursors[p]) != key):
                        continue
                    for j in range(part.terms.indptr[cursors[p]],
                                   part.terms.indptr[cursors[p] + 1]):
                        if keep == NULL or keep[part.rows[j]]:
                            data.rows[n] = part.rows[j]
                            data.tfs[n] = part.tfs[j]
                            n += 1
                    cursors[p] += 1
            data.n_postings = n
            data.first_row = 0x7fffffff
            data.last_row = -1
            for j in range(n):
                data.first_row = min(data.first_row, data.rows[j])
                data.last_row = max(data.last_row, data.rows[j])
            failed = brain_csr_seal(&data.terms, n)
    free(indexes)
    free(cursors)
    if failed:
        raise MemoryError
    return new


cdef int check_rows(Postings postings, Py_ssize_t n_rows) except -1:
    if postings.last_row >= n_rows:
        raise ValueError(f"row {postings.last_row} has postings, but there are {n_rows} rows")
    return 0


ctypedef struct absence:
    int32_t rows[LISTED]             # dead, ascending; unless there are more
    Py_ssize_t n_rows
    uint8_t in_segment[MAX_SEGMENTS]


cdef void find_dead(Postings postings, const uint8_t *alive, Py_ssize_t n_rows,
                    absence *dead) noexcept nogil:
    """List the rows with 0, as far as they are few, and the segments that span any."""
    cdef Py_ssize_t p, at = 0
    cdef const uint8_t *found
    cdef segment *part
    dead.n_rows = 0
    while dead.n_rows <= LISTED and at < n_rows:
        found = <const uint8_t *>memchr(alive + at, 0, n_rows - at)
        if found == NULL:
            break
        at = found - alive
        if dead.n_rows < LISTED:
            dead.rows[dead.n_rows] = <int32_t>at
        dead.n_rows += 1
        at += 1
    for p in range(postings.n_parts):
        part = postings.parts[p]
        dead.in_segment[p] = dead.n_rows != 0 and memchr(
            alive + part.first_row, 0, part.last_row - part.first_row + 1) != NULL


cdef int64_t count_alive(Postings postings, uint32_t term, const uint8_t *alive,
                         const absence *dead) noexcept nogil:
    """Alive rows with the term; where few rows are dead, its postings are not walked."""
    cdef int64_t df = 0, start, end, j
    cdef Py_ssize_t p, i
    cdef const int32_t *rows
    for p in range(postings.n_parts):
        brain_csr_find(&postings.parts[p].terms, term, &start, &end)
        rows = postings.parts[p].rows
        df += end - start
        if not dead.in_segment[p]:
            continue
        if dead.n_rows <= LISTED and 16 * dead.n_rows < end - start:
            j = start
            for i in range(dead.n_rows):
                j = lower_bound(rows, j, end, dead.rows[i])
                df -= j < end and rows[j] == dead.rows[i]
        else:
            for j in range(start, end):
                df -= alive[rows[j]] == 0
    return df


cdef int64_t lower_bound(const int32_t *rows, int64_t low, int64_t high,
                         int32_t row) noexcept nogil:
    """First place in ``rows[low:high]`` whose row is not below `row`; `high` if there is none."""
    cdef int64_t middle
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


@cython.final
cdef class _Accumulators:
    """Scratch of one `topk_bm25` call: scores by row, all zero between calls."""

    cdef double *scores
    cdef int32_t *touched
    cdef Py_ssize_t n_rows

    def __dealloc__(self):
        free(self.scores)
        free(self.touched)

    cdef int reserve(self, Py_ssize_t n_rows) except -1:
        if n_rows > self.n_rows:
            free(self.scores)
            free(self.touched)
            self.n_rows = 0
            n_rows += n_rows // 4
            self.scores = <double *>calloc(n_rows, sizeof(double))
            self.touched = <int32_t *>malloc((n_rows + 1) * sizeof(int32_t))
            if self.scores == NULL or self.touched == NULL:
                raise MemoryError
            self.n_rows = n_rows
        return 0


# _Accumulators at rest, at most as many as there have been calls at one time.  A call that
# fails does not bring its own back.
cdef list idle = []


def topk_bm25(Postings postings not None, const int32_t[::1] term_ids,
              const int32_t[::1] lengths, const uint8_t[::1] alive,
              const uint8_t[::1] visible, Py_ssize_t n_documents, double average_length,
              Py_ssize_t k, double k1=1.2, double b=0.75, const double[::1] weights=None):
    """Best rows by BM25, as FTS5 computes it.

    Parameters
    ----------
    postings : Postings
    term_ids : int32 array, shape (q,)
        Negative ones are skipped; a repeated one counts as often as it occurs.
    lengths : int32 array, shape (n_rows,)
        Terms in each row's text.
    alive : uint8 array, shape (n_rows,)
        Document frequencies count rows other than 0 only, and only they are hits.
    visible : uint8 array, shape (n_rows,), or None
        Rows with 0 are no hits, though they count in document frequencies.
    n_documents : int
        Number of alive rows.
    average_length : float
        Mean length of alive rows.
    k : int
        At least 1.
    k1, b : float
        Saturation of the term frequency; normalisation by length, in 0..1.
    weights : float64 array, shape (q,), optional
        What each term's share is multiplied by; above 0.

    Returns
    -------
    rows : int32 array, shape (m,), m <= k
    scores : float64 array, shape (m,)
        Sum over terms of ``idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average))``
        with ``idf = log((n - df + 0.5) / (df + 0.5))``, or 1e-6 where that is not positive.
        Best first, ties by row ascending; only rows with a term.

    Raises
    ------
    ValueError
        Lengths disagree, a row with postings is outside them, `k` is below 1, or a number is
        out of its range.

    References
    ----------
    Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009.
    """
    cdef Py_ssize_t n_rows = lengths.shape[0], n_terms = term_ids.shape[0], i, n_touched = 0
    cdef Py_ssize_t p
    if alive.shape[0] != n_rows or (visible is not None and visible.shape[0] != n_rows):
        raise ValueError(f"alive and visible must have the length of lengths, {n_rows}")
    check_rows(postings, n_rows)
    if k < 1:
        raise ValueError(f"k is {k}: at least 1 is needed")
    if n_documents < 0 or n_documents > n_rows:
        raise ValueError(f"n_documents is {n_documents}, outside 0..{n_rows}")
    if not (isfinite(k1) and k1 >= 0 and 0 <= b <= 1):
        raise ValueError(f"k1 is {k1} and b is {b}: k1 >= 0 and 0 <= b <= 1 are needed")
    if weights is not None:
        if weights.shape[0] != n_terms:
            raise ValueError(f"{weights.shape[0]} weights for {n_terms} terms")
        for i in range(n_terms):
            if not (weights[i] > 0 and isfinite(weights[i])):
                raise ValueError(f"weight {weights[i]} of term {i}: it must be positive and"
                                 " finite")
    if n_documents == 0 or n_terms == 0 or postings.n_parts == 0:
        return np.empty(0, np.int32), np.empty(0, np.float64)
    if not (isfinite(average_length) and average_length > 0):
        raise ValueError(f"average_length is {average_length}: it must be positive")
    cdef scoring call
    cdef absence dead
    cdef brain_topk top
    cdef double score
    cdef int64_t df
    cdef _Accumulators scratch = idle.pop() if idle else _Accumulators()
    scratch.reserve(n_rows)
    call.scores = scratch.scores
    call.touched = scratch.touched
    call.lengths = &lengths[0]
    call.alive = &alive[0]
    call.visible = &visible[0] if visible is not None else NULL
    call.k1 = k1
    call.b = b
    call.average_length = average_length
    top.count = 0
    top.capacity = min(k, n_rows)
    top.hits = <brain_hit *>malloc(top.capacity * sizeof(brain_hit))
    if top.hits == NULL:
        raise MemoryError
    try:
        with nogil:
            for i in range(NORM_TABLE):
                call.norms[i] = k1 * (1 - b + b * i / average_length)
            find_dead(postings, call.alive, n_rows, &dead)
            for i in range(n_terms):
                if term_ids[i] < 0:
                    continue
                df = count_alive(postings, term_ids[i], call.alive, &dead)
                score = log((n_documents - df + 0.5) / (df + 0.5))
                call.idf = (score if score > 0 else 1e-6) * (
                    1 if weights is None else weights[i])
                for p in range(postings.n_parts):
                    n_touched = accumulate(&call, postings.parts[p], term_ids[i],
                                           dead.in_segment[p], n_touched)
            for i in range(n_touched):
                score = call.scores[call.touched[i]]
                call.scores[call.touched[i]] = 0
                if score >= brain_topk_threshold(&top):
                    brain_topk_push(&top, score, call.touched[i])
            brain_topk_sort(&top)
        idle.append(scratch)
        rows, scores = np.empty(top.count, np.int32), np.empty(top.count, np.float64)
        fill(&top, rows, scores)
        return rows, scores
    finally:
        free(top.hits)


ctypedef struct scoring:
    double *scores
    int32_t *touched
    const int32_t *lengths
    const uint8_t *alive
    const uint8_t *visible
    double idf
    double k1
    double b
    double average_length
    double norms[NORM_TABLE]         # the length term of short rows, to save a division


cdef Py_ssize_t accumulate(scoring *call, const segment *part, uint32_t term, bint has_dead,
                           Py_ssize_t n_touched) noexcept nogil:
    """Add one term's share to the rows of a segment; the operations are FTS5's, in order."""
    cdef int64_t start, end, j
    cdef int32_t row, length
    cdef double tf, norm
    brain_csr_find(&part.terms, term, &start, &end)
    for j in range(start, end):
        row = part.rows[j]
        if has_dead and not call.alive[row]:
            continue
        if call.visible != NULL and not call.visible[row]:
            continue
        length = call.lengths[row]
        if <uint32_t>length < NORM_TABLE:
            norm = call.norms[length]
        else:
            norm = call.k1 * (1 - call.b + call.b * length / call.average_length)
        tf = part.tfs[j]
        call.touched[n_touched] = row
        n_touched += call.scores[row] == 0
        call.scores[row] += call.idf * ((tf * (call.k1 + 1)) / (tf + norm))
    return n_touched


cdef int fill(const brain_topk *top, int32_t[::1] rows, double[::1] scores) except -1:
    cdef Py_ssize_t i
    for i in range(top.count):
        rows[i] = top.hits[i].row
        scores[i] = top.hits[i].score
    return 0


def document_frequencies(Postings postings not None, const int32_t[::1] term_ids,
                         const uint8_t[::1] alive):
    """Number of alive rows that hold each term.

    Parameters
    ----------
    postings : Postings
    term_ids : int32 array, shape (q,)
    alive : uint8 array, shape (n_rows,)

    Returns
    -------
    int32 array, shape (q,)
        0 for a negative id.

    Raises
    ------
    ValueError
        A row with postings is outside `alive`.
    """
    cdef Py_ssize_t i, q = term_ids.shape[0]
    cdef absence dead
    check_rows(postings, alive.shape[0])
    output = np.zeros(q, np.int32)
    if q == 0 or postings.n_parts == 0:
        return output
    cdef int32_t[::1] dfs = output
    with nogil:
        find_dead(postings, &alive[0], alive.shape[0], &dead)
        for i in range(q):
            if term_ids[i] >= 0:
                dfs[i] = <int32_t>count_alive(postings, term_ids[i], &alive[0], &dead)
    return output


def term_frequencies(Postings postings not None, const int32_t[::1] term_ids,
                     const int32_t[::1] rows):
    """How often some terms occur in some rows.

    Parameters
    ----------
    postings : Postings
    term_ids : int32 array, shape (q,)
    rows : int32 array, shape (m,)
        In any order.

    Returns
    -------
    uint16 array, shape (m, q)
        0 where the row lacks the term, or the id is negative.
    """
    cdef Py_ssize_t i, t, p, m = rows.shape[0], q = term_ids.shape[0]
    cdef int64_t start, end, low
    cdef segment *part
    output = np.zeros((m, q), np.uint16)
    if m == 0 or q == 0:
        return output
    cdef uint16_t[:, ::1] tfs = output
    with nogil:
        for t in range(q):
            if term_ids[t] < 0:
                continue
            for p in range(postings.n_parts):
                part = postings.parts[p]
                brain_csr_find(&part.terms, term_ids[t], &start, &end)
                for i in range(m):
                    if rows[i] < part.first_row or rows[i] > part.last_row:
                        continue
                    low = lower_bound(part.rows, start, end, rows[i])
                    if low < end and part.rows[low] == rows[i]:
                        tfs[i, t] = part.tfs[low]
    return output


def rows_with_all(Postings postings not None, const int32_t[::1] term_ids):
    """Rows that hold every one of some terms.

    Parameters
    ----------
    postings : Postings
    term_ids : int32 array, shape (q,)

    Returns
    -------
    int32 array, shape (m,)
        Ascending, dead rows included; empty for no terms, and where an id is negative.
    """
    cdef Py_ssize_t p, t, q = term_ids.shape[0], rarest, n
    cdef int64_t start, end
    cdef segment *part
    found = []
    for t in range(q):
        if term_ids[t] < 0:
            q = 0
    for p in range(postings.n_parts if q else 0):
        part = postings.parts[p]
        rarest, n = 0, part.n_postings + 1
        for t in range(q):
            brain_csr_find(&part.terms, term_ids[t], &start, &end)
            if end - start < n:
                rarest, n = t, end - start
        if n == 0:
            continue
        held = np.empty(n, np.int32)
        n = intersect(part, term_ids, rarest, held)
        if n:
            found.append(held[:n])
    return np.concatenate(found) if found else np.empty(0, np.int32)


cdef Py_ssize_t intersect(const segment *part, const int32_t[::1] term_ids, Py_ssize_t rarest,
                          int32_t[::1] rows) noexcept nogil:
    """Rows of a segment that hold all terms, walking those of one of them; gives their number."""
    cdef int64_t start, end
    cdef Py_ssize_t i, t, n, kept
    brain_csr_find(&part.terms, term_ids[rarest], &start, &end)
    n = end - start
    for i in range(n):
        rows[i] = part.rows[start + i]
    for t in range(term_ids.shape[0]):
        if t == rarest or n == 0:
            continue
        brain_csr_find(&part.terms, term_ids[t], &start, &end)
        kept = 0
        for i in range(n):
            start = lower_bound(part.rows, start, end, rows[i])  # the rows ascend
            if start < end and part.rows[start] == rows[i]:
                rows[kept] = rows[i]
                kept += 1
        n = kept
    return n
