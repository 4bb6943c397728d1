/* Dot products, bit estimates and pooling in SIMD tiers, and the scans above them. */
#include "kernels.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#include <sys/auxv.h>
#ifndef HWCAP_ASIMDDP
#define HWCAP_ASIMDDP (1UL << 20)
#endif
#endif

#define INLINE static inline __attribute__((always_inline))

/* Rows scored before the results are compared with the threshold; fits the L1 cache. */

/* `rows` NULL means the n rows from `first` on; else n rows listed relative to `first`. */
typedef void dot_function(const int8_t *first, ptrdiff_t dim, const int8_t *query,
                          const int32_t *rows, ptrdiff_t n, int32_t *dots);
typedef void estimate_function(const uint64_t *first, ptrdiff_t n_words, const uint64_t *planes,
                               const int32_t *rows, ptrdiff_t n, int32_t *estimates);
typedef void add_int8_function(float *sum, const int8_t *row, float weight, ptrdiff_t dim);
typedef void add_float_function(float *sum, const float *row, float weight, ptrdiff_t dim);

typedef struct {
    const char *name;
    dot_function *dot;
    estimate_function *estimate;
    add_int8_function *add_int8;
    add_float_function *add_float;
} tier;

INLINE ptrdiff_t nth_row(const int32_t *rows, ptrdiff_t i) { return rows ? rows[i] : i; }

/* ---- scalar ------------------------------------------------------------------------- */

INLINE void add_int8(float *restrict sum, const int8_t *restrict row, float weight,
                     ptrdiff_t dim) {
    for (ptrdiff_t j = 0; j < dim; j++) sum[j] += weight * (float)row[j];
}

INLINE void add_float(float *restrict sum, const float *restrict row, float weight,
                      ptrdiff_t dim) {
    for (ptrdiff_t j = 0; j < dim; j++) sum[j] += weight * row[j];
}

static void add_int8_scalar(float *sum, const int8_t *row, float weight, ptrdiff_t dim) {
    add_int8(sum, row, weight, dim);
}

static void add_float_scalar(float *sum, const float *row, float weight, ptrdiff_t dim) {
    add_float(sum, row, weight, dim);
}

static void dot_scalar(const int8_t *first, ptrdiff_t dim, const int8_t *query,
                       const int32_t *rows, ptrdiff_t n, int32_t *dots) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const int8_t *row = first + nth_row(rows, i) * dim;
        int32_t dot = 0;
        for (ptrdiff_t j = 0; j < dim; j++) dot += (int16_t)row[j] * (int16_t)query[j];
        dots[i] = dot;
    }
}

/* With query levels u in 0..15 standing for 2u - 15 and bits b standing for 2b - 1, the dot
 * product is 2 * (2 * sum(u b) - 15 * popcount(b)) + constant; the bracket ranks the rows. */
INLINE void estimate_words(const uint64_t *first, ptrdiff_t n_words, const uint64_t *planes,
                           const int32_t *rows, ptrdiff_t n, int32_t *estimates) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const uint64_t *row = first + nth_row(rows, i) * n_words;
        int32_t weighted = 0, ones = 0;
        for (ptrdiff_t w = 0; w < n_words; w++) {
            ones += __builtin_popcountll(row[w]);
            for (int p = 0; p < BRAIN_QUERY_PLANES; p++)
                weighted += __builtin_popcountll(row[w] & planes[p * n_words + w]) << p;
        }
        estimates[i] = 2 * weighted - 15 * ones;
    }
}

static void estimate_scalar(const uint64_t *first, ptrdiff_t n_words, const uint64_t *planes,
                            const int32_t *rows, ptrdiff_t n, int32_t *estimates) {
    estimate_words(first, n_words, planes, rows, n, estimates);
}

static const tier SCALAR = {"scalar", dot_scalar, estimate_scalar, add_int8_scalar,
                            add_float_scalar};

/* ---- x86-64 ------------------------------------------------------------------------- */

#if defined(__x86_64__)

#define AVX2 __attribute__((target("avx2,popcnt")))
#define AVX512 __attribute__((target("avx2,popcnt,avx512f,avx512bw,avx512vl,avx512vnni")))
#define AVX512_POPCNT __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512vpopcntdq")))

AVX2 INLINE __m256i madd_bytes(__m256i sum, const int8_t *row, __m256i query) {
    __m256i values = _mm256_loadu_si256((const __m256i *)row);
    /* |row| is at most 128 and the query at least -127, so no pair sum leaves 16 bits. */
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(values),
                                         _mm256_sign_epi8(query, values));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

/* The four lane sums of four accumulators. */
AVX2 INLINE __m128i sum_lanes(__m256i a, __m256i b, __m256i c, __m256i d) {
    __m256i sums = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    return _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
}

AVX2 static void dot_avx2(const int8_t *first, ptrdiff_t dim, const int8_t *query,
                          const int32_t *rows, ptrdiff_t n, int32_t *dots) {
    if (memchr(query, -128, (size_t)dim)) { /* has no opposite in 8 bits: never from quantizing */
        dot_scalar(first, dim, query, rows, n, dots);
        return;
    }
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const int8_t *r0 = first + nth_row(rows, i) * dim;
        const int8_t *r1 = first + nth_row(rows, i + 1) * dim;
        const int8_t *r2 = first + nth_row(rows, i + 2) * dim;
        const int8_t *r3 = first + nth_row(rows, i + 3) * dim;
        __m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;
        for (ptrdiff_t j = 0; j < dim; j += 32) {
            __m256i q = _mm256_loadu_si256((const __m256i *)(query + j));
            s0 = madd_bytes(s0, r0 + j, q);
            s1 = madd_bytes(s1, r1 + j, q);
            s2 = madd_bytes(s2, r2 + j, q);
            s3 = madd_bytes(s3, r3 + j, q);
        }
        _mm_storeu_si128((__m128i *)(dots + i), sum_lanes(s0, s1, s2, s3));
    }
    for (; i < n; i++) {
        const int8_t *row = first + nth_row(rows, i) * dim;
        __m256i sum = _mm256_setzero_si256(), zero = sum;
        for (ptrdiff_t j = 0; j < dim; j += 32)
            sum = madd_bytes(sum, row + j, _mm256_loadu_si256((const __m256i *)(query + j)));
        dots[i] = _mm_cvtsi128_si32(sum_lanes(sum, zero, zero, zero));
    }
}

AVX2 static void estimate_avx2(const uint64_t *first, ptrdiff_t n_words, const uint64_t *planes,
                               const int32_t *rows, ptrdiff_t n, int32_t *estimates) {
    estimate_words(first, n_words, planes, rows, n, estimates);
}

AVX2 static void add_int8_avx2(float *sum, const int8_t *row, float weight, ptrdiff_t dim) {
    add_int8(sum, row, weight, dim);
}

AVX2 static void add_float_avx2(float *sum, const float *row, float weight, ptrdiff_t dim) {
    add_float(sum, row, weight, dim);
}

static const tier TIER_AVX2 = {"avx2", dot_avx2, estimate_avx2, add_int8_avx2, add_float_avx2};

/* VPDPBUSD multiplies unsigned by signed bytes: row + 128 is unsigned, and 128 * sum(query)
 * is taken off afterwards. It does not saturate. */
AVX512 INLINE __m512i dot_bytes(__m512i sum, const int8_t *row, __m512i query) {
    __m512i values = _mm512_loadu_si512(row);
    return _mm512_dpbusd_epi32(sum, _mm512_xor_si512(values, _mm512_set1_epi8(-128)), query);
}

AVX512 INLINE __m256i fold_512(__m512i sum) {
    return _mm256_add_epi32(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1));
}

AVX512 INLINE __m128i sum_lanes_512(__m512i a, __m512i b, __m512i c, __m512i d) {
    __m256i s0 = fold_512(a), s1 = fold_512(b), s2 = fold_512(c), s3 = fold_512(d);
    __m256i sums = _mm256_hadd_epi32(_mm256_hadd_epi32(s0, s1), _mm256_hadd_epi32(s2, s3));
    return _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
}

AVX512 static void dot_avx512vnni(const int8_t *first, ptrdiff_t dim, const int8_t *query,
                                  const int32_t *rows, ptrdiff_t n, int32_t *dots) {
    int32_t offset = 0;
    for (ptrdiff_t j = 0; j < dim; j++) offset += query[j];
    offset *= 128;
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const int8_t *r0 = first + nth_row(rows, i) * dim;
        const int8_t *r1 = first + nth_row(rows, i + 1) * dim;
        const int8_t *r2 = first + nth_row(rows, i + 2) * dim;
        const int8_t *r3 = first + nth_row(rows, i + 3) * dim;
        __m512i s0 = _mm512_setzero_si512(), s1 = s0, s2 = s0, s3 = s0;
        for (ptrdiff_t j = 0; j < dim; j += 64) {
            __m512i q = _mm512_loadu_si512(query + j);
            s0 = dot_bytes(s0, r0 + j, q);
            s1 = dot_bytes(s1, r1 + j, q);
            s2 = dot_bytes(s2, r2 + j, q);
            s3 = dot_bytes(s3, r3 + j, q);
        }
        __m128i sums = sum_lanes_512(s0, s1, s2, s3);
        _mm_storeu_si128((__m128i *)(dots + i), _mm_sub_epi32(sums, _mm_set1_epi32(offset)));
    }
    for (; i < n; i++) {
        const int8_t *row = first + nth_row(rows, i) * dim;
        __m512i sum = _mm512_setzero_si512();
        for (ptrdiff_t j = 0; j < dim; j += 64)
            sum = dot_bytes(sum, row + j, _mm512_loadu_si512(query + j));
        dots[i] = _mm512_reduce_add_epi32(sum) - offset;
    }
}

/* One row: 2 * sum over planes of 2^p popcount(plane & row) - 15 popcount(row), in 64-bit
 * lanes, four words a step. */
AVX512_POPCNT INLINE __m256i estimate_lanes(const uint64_t *row, ptrdiff_t n_words,
                                            const uint64_t *planes) {
    __m256i weighted = _mm256_setzero_si256(), ones = weighted;
    for (ptrdiff_t w = 0; w < n_words; w += 4) {
        ptrdiff_t left = n_words - w;
        __mmask8 lanes = (__mmask8)(left >= 4 ? 15 : (1 << left) - 1);
        __m256i word = _mm256_maskz_loadu_epi64(lanes, row + w);
        ones = _mm256_add_epi64(ones, _mm256_popcnt_epi64(word));
        __m256i sum = _mm256_setzero_si256();
        for (int p = BRAIN_QUERY_PLANES - 1; p >= 0; p--) {
            __m256i plane = _mm256_maskz_loadu_epi64(lanes, planes + p * n_words + w);
            sum = _mm256_add_epi64(_mm256_add_epi64(sum, sum),
                                   _mm256_popcnt_epi64(_mm256_and_si256(word, plane)));
        }
        weighted = _mm256_add_epi64(weighted, sum);
    }
    __m256i fifteen = _mm256_sub_epi64(_mm256_slli_epi64(ones, 4), ones);
    return _mm256_sub_epi64(_mm256_add_epi64(weighted, weighted), fifteen);
}

AVX512_POPCNT static void estimate_avx512(const uint64_t *first, ptrdiff_t n_words,
                                          const uint64_t *planes, const int32_t *rows,
                                          ptrdiff_t n, int32_t *estimates) {
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4) {
        __m256i a = estimate_lanes(first + nth_row(rows, i) * n_words, n_words, planes);
        __m256i b = estimate_lanes(first + nth_row(rows, i + 1) * n_words, n_words, planes);
        __m256i c = estimate_lanes(first + nth_row(rows, i + 2) * n_words, n_words, planes);
        __m256i d = estimate_lanes(first + nth_row(rows, i + 3) * n_words, n_words, planes);
        __m256i ab = _mm256_add_epi64(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
        __m256i cd = _mm256_add_epi64(_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
        __m256i sums = _mm256_add_epi64(_mm256_permute2x128_si256(ab, cd, 0x20),
                                        _mm256_permute2x128_si256(ab, cd, 0x31));
        _mm_storeu_si128((__m128i *)(estimates + i), _mm256_cvtepi64_epi32(sums));
    }
    for (; i < n; i++) {
        int64_t lane[4];
        __m256i sums = estimate_lanes(first + nth_row(rows, i) * n_words, n_words, planes);
        _mm256_storeu_si256((__m256i *)lane, sums);
        estimates[i] = (int32_t)(lane[0] + lane[1] + lane[2] + lane[3]);
    }
}

static const tier TIER_AVX512 = {"avx512vnni", dot_avx512vnni, estimate_avx2, add_int8_avx2,
                                 add_float_avx2};
static const tier TIER_AVX512_POPCNT = {"avx512vnni", dot_avx512vnni, estimate_avx512,
                                        add_int8_avx2, add_float_avx2};

#endif

/* ---- AArch64 ------------------------------------------------------------------------ */

#if defined(__aarch64__)

static void dot_neon(const int8_t *first, ptrdiff_t dim, const int8_t *query,
                     const int32_t *rows, ptrdiff_t n, int32_t *dots) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const int8_t *row = first + nth_row(rows, i) * dim;
        int32x4_t low = vdupq_n_s32(0), high = vdupq_n_s32(0);
        for (ptrdiff_t j = 0; j < dim; j += 16) {
            int8x16_t r = vld1q_s8(row + j), q = vld1q_s8(query + j);
            low = vpadalq_s16(low, vmull_s8(vget_low_s8(r), vget_low_s8(q)));
            high = vpadalq_s16(high, vmull_high_s8(r, q));
        }
        dots[i] = vaddvq_s32(vaddq_s32(low, high));
    }
}

__attribute__((target("arch=armv8.2-a+dotprod"))) static void dot_dotprod(
    const int8_t *first, ptrdiff_t dim, const int8_t *query, const int32_t *rows, ptrdiff_t n,
    int32_t *dots) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const int8_t *row = first + nth_row(rows, i) * dim;
        int32x4_t even = vdupq_n_s32(0), odd = vdupq_n_s32(0);
        for (ptrdiff_t j = 0; j < dim; j += 32) {
            even = vdotq_s32(even, vld1q_s8(row + j), vld1q_s8(query + j));
            odd = vdotq_s32(odd, vld1q_s8(row + j + 16), vld1q_s8(query + j + 16));
        }
        dots[i] = vaddvq_s32(vaddq_s32(even, odd));
    }
}

static void estimate_neon(const uint64_t *first, ptrdiff_t n_words, const uint64_t *planes,
                          const int32_t *rows, ptrdiff_t n, int32_t *estimates) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const uint64_t *row = first + nth_row(rows, i) * n_words;
        int32_t weighted = 0, ones = 0;
        for (ptrdiff_t w = 0; w < n_words; w++) {
            uint8x8_t word = vcreate_u8(row[w]);
            uint8x8_t sum = vdup_n_u8(0); /* at most 8 * 15 a byte */
            for (int p = BRAIN_QUERY_PLANES - 1; p >= 0; p--) {
                uint8x8_t plane = vcreate_u8(planes[p * n_words + w]);
                sum = vadd_u8(vshl_n_u8(sum, 1), vcnt_u8(vand_u8(word, plane)));
            }
            weighted += vaddlv_u8(sum);
            ones += vaddlv_u8(vcnt_u8(word));
        }
        estimates[i] = 2 * weighted - 15 * ones;
    }
}

static const tier TIER_NEON = {"neon", dot_neon, estimate_neon, add_int8_scalar,
                               add_float_scalar};
static const tier TIER_DOTPROD = {"dotprod", dot_dotprod, estimate_neon, add_int8_scalar,
                                  add_float_scalar};

#endif

/* ---- choice of the tier ------------------------------------------------------------- */

static const tier *tiers[3] = {&SCALAR};
static int n_tiers = 1;
static const tier *current = &SCALAR;

__attribute__((constructor)) static void find_tiers(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt"))
        tiers[n_tiers++] = &TIER_AVX2;
    if (n_tiers == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
        tiers[n_tiers++] = __builtin_cpu_supports("avx512vpopcntdq") ? &TIER_AVX512_POPCNT
                                                                    : &TIER_AVX512;
#elif defined(__aarch64__)
    tiers[n_tiers++] = &TIER_NEON;
    if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) tiers[n_tiers++] = &TIER_DOTPROD;
#endif
    current = tiers[n_tiers - 1];
}

int brain_tier_count(void) { return n_tiers; }
const char *brain_tier_name(int tier) { return tiers[tier]->name; }
void brain_tier_select(int tier) { current = tiers[tier]; }

int brain_tier_current(void) {
    int i = 0;
    while (tiers[i] != current) i++;
    return i;
}

/* ---- scans, the same code on every tier --------------------------------------------- */

/* Rows of the block that `mask` and `scales` admit, relative to `first`; returns their number. */
static ptrdiff_t admitted(const brain_vectors *vectors, ptrdiff_t first, ptrdiff_t n,
                          int32_t *rows) {
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        rows[count] = (int32_t)i;
        count += (vectors->mask == NULL || vectors->mask[first + i] != 0) &
                 (vectors->scales[first + i] != 0.0f);
    }
    return count;
}

void brain_topk_int8(const brain_vectors *vectors, const int8_t *query, double query_scale,
                     brain_topk *top) {
    int32_t rows[BRAIN_BLOCK], dots[BRAIN_BLOCK], passing[BRAIN_BLOCK];
    double scores[BRAIN_BLOCK];
    for (ptrdiff_t first = 0; first < vectors->n_rows; first += BRAIN_BLOCK) {
        ptrdiff_t n = vectors->n_rows - first < BRAIN_BLOCK ? vectors->n_rows - first : BRAIN_BLOCK;
        ptrdiff_t count = admitted(vectors, first, n, rows);
        if (count == 0) continue;
        current->dot(vectors->matrix + first * vectors->dim, vectors->dim, query,
                     count == n ? NULL : rows, count, dots);
        const float *scales = vectors->scales + first;
        if (count == n)
            for (ptrdiff_t i = 0; i < n; i++)
                scores[i] = (double)dots[i] * (double)scales[i] * query_scale;
        else
            for (ptrdiff_t i = 0; i < count; i++)
                scores[i] = (double)dots[i] * (double)scales[rows[i]] * query_scale;
        double threshold = brain_topk_threshold(top);
        ptrdiff_t n_passing = 0;
        for (ptrdiff_t i = 0; i < count; i++) {
            passing[n_passing] = (int32_t)i;
            n_passing += scores[i] > threshold; /* rows ascend: a tie never enters */
        }
        for (ptrdiff_t i = 0; i < n_passing; i++) {
            int32_t at = passing[i];
            brain_topk_push(top, scores[at], (int32_t)(first + rows[at]));
        }
    }
}

/* Order keys so that the k largest come first and the k-th largest stands last among them
 * (Hoare's selection; 1 <= k <= n, all distinct). */
static void select_largest(int64_t *keys, ptrdiff_t n, ptrdiff_t k) {
    ptrdiff_t low = 0, high = n - 1, wanted = k - 1;
    while (low < high) {
        int64_t pivot = keys[low + (high - low) / 2];
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (keys[i] > pivot) i++;
            while (keys[j] < pivot) j--;
            if (i <= j) {
                int64_t swapped = keys[i];
                keys[i++] = keys[j];
                keys[j--] = swapped;
            }
        }
        if (wanted <= j) high = j;
        else if (wanted >= i) low = i;
        else return;
    }
}

ptrdiff_t brain_best_by_bits(const brain_vectors *vectors, const uint64_t *planes,
                             ptrdiff_t n_wanted, int64_t *keys) {
    int32_t rows[BRAIN_BLOCK], estimates[BRAIN_BLOCK];
    ptrdiff_t n_words = vectors->dim / 64, n_kept = 0;
    int64_t threshold = INT64_MIN;
    for (ptrdiff_t first = 0; first < vectors->n_rows; first += BRAIN_BLOCK) {
        ptrdiff_t n = vectors->n_rows - first < BRAIN_BLOCK ? vectors->n_rows - first : BRAIN_BLOCK;
        ptrdiff_t count = admitted(vectors, first, n, rows);
        if (count == 0) continue;
        current->estimate(vectors->bits + first * n_words, n_words, planes,
                          count == n ? NULL : rows, count, estimates);
        for (ptrdiff_t i = 0; i < count; i++) {
            /* Estimate first, then row ascending, in one integer: no two are equal. */
            keys[n_kept] = (int64_t)estimates[i] * ((int64_t)1 << 32) - (first + rows[i]);
            n_kept += keys[n_kept] > threshold;
        }
        if (n_kept >= 2 * n_wanted) {
            select_largest(keys, n_kept, n_wanted);
            threshold = keys[n_wanted - 1];
            n_kept = n_wanted;
        }
    }
    if (n_kept > n_wanted) {
        select_largest(keys, n_kept, n_wanted);
        n_kept = n_wanted;
    }
    return n_kept;
}

void brain_query_planes(const int8_t *query, ptrdiff_t dim, uint64_t *planes) {
    ptrdiff_t n_words = dim / 64;
    memset(planes, 0, (size_t)(BRAIN_QUERY_PLANES * n_words) * sizeof *planes);
    for (ptrdiff_t j = 0; j < dim; j++) {
        /* Levels 0..15 stand for 2 * level - 15, in steps of 17 around zero. */
        int level = (query[j] + 136) / 17;
        if (level > 15) level = 15;
        for (int p = 0; p < BRAIN_QUERY_PLANES; p++)
            planes[p * n_words + j / 64] |= (uint64_t)(level >> p & 1) << (j % 64);
    }
}

void brain_score_rows(const brain_vectors *vectors, const int8_t *query, double query_scale,
                      const int32_t *rows, ptrdiff_t n_rows, double *scores) {
    int32_t dots[BRAIN_BLOCK];
    for (ptrdiff_t first = 0; first < n_rows; first += BRAIN_BLOCK) {
        ptrdiff_t n = n_rows - first < BRAIN_BLOCK ? n_rows - first : BRAIN_BLOCK;
        for (ptrdiff_t i = 0; i < n; i++)
            for (ptrdiff_t j = 0; j < vectors->dim; j += 64)
                __builtin_prefetch(vectors->matrix + rows[first + i] * vectors->dim + j);
        current->dot(vectors->matrix, vectors->dim, query, rows + first, n, dots);
        for (ptrdiff_t i = 0; i < n; i++)
            scores[first + i] =
                (double)dots[i] * (double)vectors->scales[rows[first + i]] * query_scale;
    }
}

/* ---- packing and pooling ------------------------------------------------------------ */

void brain_pack_bits(const int8_t *matrix, ptrdiff_t n_values, uint64_t *bits) {
    for (ptrdiff_t w = 0; w < n_values / 64; w++) {
        const int8_t *values = matrix + 64 * w;
        uint64_t word = 0;
#if defined(__x86_64__)
        for (int j = 0; j < 64; j += 16) {
            __m128i v = _mm_loadu_si128((const __m128i *)(values + j));
            uint32_t positive = (uint32_t)_mm_movemask_epi8(_mm_cmpgt_epi8(v, _mm_setzero_si128()));
            word |= (uint64_t)positive << j;
        }
#else
        for (int j = 0; j < 64; j++) word |= (uint64_t)(values[j] > 0) << j;
#endif
        bits[w] = word;
    }
}

void brain_add_row_int8(float *sum, const int8_t *row, float weight, ptrdiff_t dim) {
    current->add_int8(sum, row, weight, dim);
}

void brain_add_row_float(float *sum, const float *row, float weight, ptrdiff_t dim) {
    current->add_float(sum, row, weight, dim);
}
