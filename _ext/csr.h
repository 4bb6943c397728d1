/* Compressed sparse rows keyed by uint32: the index part shared by postings and the graph. */
#ifndef BRAIN_CSR_H
#define BRAIN_CSR_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Entries of the i-th key are indptr[i] .. indptr[i + 1].  With `keys` NULL the keys are
 * first_key, first_key + 1, ... (some without entries), found without a search. */
typedef struct {
    uint32_t *keys;
    int64_t *indptr;
    ptrdiff_t n_keys;
    uint32_t first_key;
} brain_csr;

static inline void brain_csr_free(brain_csr *csr) {
    free(csr->keys);
    free(csr->indptr);
    csr->keys = NULL;
    csr->indptr = NULL;
    csr->n_keys = 0;
}

static inline size_t brain_csr_nbytes(const brain_csr *csr) {
    size_t n = (size_t)csr->n_keys;
    return (n + 1) * sizeof(int64_t) + (csr->keys ? n * sizeof(uint32_t) : 0);
}

static inline void brain_csr_find(const brain_csr *csr, uint32_t key, int64_t *start,
                                  int64_t *end) {
    *start = *end = 0;
    ptrdiff_t low = 0;
    if (csr->keys == NULL) {
        if (key < csr->first_key) return;
        low = (ptrdiff_t)(key - csr->first_key);
        if (low >= csr->n_keys) return;
    } else {
        ptrdiff_t high = csr->n_keys;
        while (low < high) {
            ptrdiff_t middle = low + (high - low) / 2;
            if (csr->keys[middle] < key) low = middle + 1;
            else high = middle;
        }
        if (low == csr->n_keys || csr->keys[low] != key) return;
    }
    *start = csr->indptr[low];
    *end = csr->indptr[low + 1];
}

/* Start to load what brain_csr_find will read, where that is known without a search. */
static inline void brain_csr_prefetch(const brain_csr *csr, uint32_t key) {
    if (csr->keys == NULL && key >= csr->first_key && key - csr->first_key < csr->n_keys)
        __builtin_prefetch(csr->indptr + (key - csr->first_key));
}

/* Building: reserve, then open each key ascending with the number of entries so far, then
 * seal with the total.  A key left without entries is dropped.  -1 = no memory. */
static inline int brain_csr_reserve(brain_csr *csr, ptrdiff_t max_keys) {
    csr->n_keys = 0;
    csr->first_key = 0;
    csr->keys = malloc(((size_t)max_keys + 1) * sizeof *csr->keys);
    csr->indptr = malloc(((size_t)max_keys + 1) * sizeof *csr->indptr);
    return csr->keys && csr->indptr ? 0 : -1;
}

static inline void brain_csr_open(brain_csr *csr, uint32_t key, int64_t n_entries) {
    if (csr->n_keys && csr->indptr[csr->n_keys - 1] == n_entries) csr->n_keys--;
    csr->keys[csr->n_keys] = key;
    csr->indptr[csr->n_keys++] = n_entries;
}

static inline int brain_csr_seal(brain_csr *csr, int64_t n_entries) {
    if (csr->n_keys && csr->indptr[csr->n_keys - 1] == n_entries) csr->n_keys--;
    ptrdiff_t n = csr->n_keys;
    csr->indptr[n] = n_entries;
    if (n == 0) return 0;
    csr->first_key = csr->keys[0];
    size_t range = (size_t)(csr->keys[n - 1] - csr->first_key) + 1;
    if (range > 4 * (size_t)n) { /* sparse: give back what was reserved in vain */
        uint32_t *keys = realloc(csr->keys, (size_t)n * sizeof *keys);
        if (keys) csr->keys = keys;
        int64_t *indptr = realloc(csr->indptr, ((size_t)n + 1) * sizeof *indptr);
        if (indptr) csr->indptr = indptr;
        return 0;
    }
    int64_t *dense = malloc((range + 1) * sizeof *dense);
    if (dense == NULL) return -1;
    size_t at = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        while (at <= csr->keys[i] - csr->first_key) dense[at++] = csr->indptr[i];
    dense[range] = n_entries;
    free(csr->keys);
    free(csr->indptr);
    csr->keys = NULL;
    csr->indptr = dense;
    csr->n_keys = (ptrdiff_t)range;
    return 0;
}

/* Walking several at once: one cursor each, starting at 0. */
static inline uint32_t brain_csr_key(const brain_csr *csr, ptrdiff_t at) {
    return csr->keys ? csr->keys[at] : csr->first_key + (uint32_t)at;
}

/* The smallest key under the cursors, which are moved past empty keys; 0 = all are done. */
static inline int brain_csr_smallest(const brain_csr *const *parts, ptrdiff_t *cursors,
                                     ptrdiff_t n_parts, uint32_t *key) {
    int found = 0;
    for (ptrdiff_t p = 0; p < n_parts; p++) {
        const brain_csr *csr = parts[p];
        while (cursors[p] < csr->n_keys &&
               csr->indptr[cursors[p]] == csr->indptr[cursors[p] + 1])
            cursors[p]++;
        if (cursors[p] == csr->n_keys) continue;
        uint32_t candidate = brain_csr_key(csr, cursors[p]);
        if (!found || candidate < *key) *key = candidate;
        found = 1;
    }
    return found;
}

/* Stable order of `keys` ascending, by least significant digits; `spare` as long as `order`. */
static inline void brain_sort_by_key(const uint32_t *keys, uint32_t n, uint32_t *order,
                                     uint32_t *spare) {
    uint32_t counts[2048], largest = 0;
    uint32_t width = n < 4096 ? 8 : 11, digits = 1u << width;
    uint32_t *from = spare, *to = order;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
        if (keys[i] > largest) largest = keys[i];
    }
    for (uint32_t shift = 0; shift < 32 && largest >> shift; shift += width) {
        uint32_t *swap = from;
        from = to;
        to = swap;
        memset(counts, 0, digits * sizeof *counts);
        for (uint32_t i = 0; i < n; i++) counts[keys[i] >> shift & (digits - 1)]++;
        uint32_t sum = 0;
        for (uint32_t d = 0; d < digits; d++) {
            uint32_t count = counts[d];
            counts[d] = sum;
            sum += count;
        }
        for (uint32_t i = 0; i < n; i++)
            to[counts[keys[from[i]] >> shift & (digits - 1)]++] = from[i];
    }
    if (to != order) memcpy(order, to, n * sizeof *order);
}

#endif
