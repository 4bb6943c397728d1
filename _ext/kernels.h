/* Vector kernels in SIMD tiers.  Every tier gives the same bits: integer dot products are
 * exact, and the floating-point steps are element-wise and never contracted to FMA. */
#ifndef BRAIN_KERNELS_H
#define BRAIN_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "topk.h"

/* Keeps every 32-bit accumulator exact: 65,536 products of at most 255 * 128. */
#define BRAIN_MAX_DIM 65536

enum { BRAIN_QUERY_PLANES = 4, BRAIN_BLOCK = 128 /* rows a scan takes at a time */ };

/* Everything that the scans read; `mask` may be NULL.  `dim` is a multiple of 64. */
typedef struct {
    const int8_t *matrix;
    const float *scales;
    const uint64_t *bits;
    const uint8_t *mask;
    ptrdiff_t n_rows;
    ptrdiff_t dim;
} brain_vectors;

/* Tiers that this CPU runs are numbered from 0, weakest first. */
int brain_tier_count(void);
const char *brain_tier_name(int tier);
int brain_tier_current(void);
void brain_tier_select(int tier);

void brain_topk_int8(const brain_vectors *vectors, const int8_t *query, double query_scale,
                     brain_topk *top);

/* The rows with the best integer estimates, in no special order; `planes` comes from
 * brain_query_planes. Returns their number, at most n_wanted; BRAIN_KEY_ROW gives the row of a
 * key. `keys` has room for BRAIN_KEYS(n_wanted). */
ptrdiff_t brain_best_by_bits(const brain_vectors *vectors, const uint64_t *planes,
                             ptrdiff_t n_wanted, int64_t *keys);
#define BRAIN_KEYS(n_wanted) (2 * (n_wanted) + BRAIN_BLOCK)
#define BRAIN_KEY_ROW(key) ((int32_t)(-(uint32_t)(key)))

/* Splits a query into BRAIN_QUERY_PLANES bit planes of dim / 64 words each. */
void brain_query_planes(const int8_t *query, ptrdiff_t dim, uint64_t *planes);

void brain_score_rows(const brain_vectors *vectors, const int8_t *query, double query_scale,
                      const int32_t *rows, ptrdiff_t n_rows, double *scores);

void brain_pack_bits(const int8_t *matrix, ptrdiff_t n_values, uint64_t *bits);

/* sum[j] += weight * row[j] */
void brain_add_row_int8(float *sum, const int8_t *row, float weight, ptrdiff_t dim);
void brain_add_row_float(float *sum, const float *row, float weight, ptrdiff_t dim);

#endif
