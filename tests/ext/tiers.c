/* Runs every tier of kernels.c on the same random bytes; exit 1 names the first difference. */
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 301, DIM = 192, K = 40 };

int main(void) {
    static int8_t matrix[ROWS * DIM], query[DIM];
    static float scales[ROWS], sums[2][DIM];
    static uint8_t mask[ROWS];
    static uint64_t bits[ROWS * DIM / 64], planes[BRAIN_QUERY_PLANES * DIM / 64];
    static brain_hit hits[2][K];
    static int64_t keys[2][BRAIN_KEYS(K)];
    brain_vectors vectors = {matrix, scales, bits, mask, ROWS, DIM};
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < ROWS * DIM; i++) matrix[i] = (int8_t)(rand() >> 8);
        for (int i = 0; i < DIM; i++) query[i] = (int8_t)(rand() >> 8);
        if (round % 2) memset(query, -128, sizeof query / 2);
        for (int i = 0; i < ROWS; i++) {
            scales[i] = (float)(rand() % 100) / 64.0f;
            mask[i] = round % 3 == 0 || rand() % 2;
        }
        brain_pack_bits(matrix, ROWS * DIM, bits);
        brain_query_planes(query, DIM, planes);
        for (int tier = 0; tier < brain_tier_count(); tier++) {
            brain_tier_select(tier);
            int slot = tier > 0;
            brain_topk exact = {hits[slot], K, 0};
            brain_topk_int8(&vectors, query, 0.01, &exact);
            ptrdiff_t n_estimated = brain_best_by_bits(&vectors, planes, K, keys[slot]);
            brain_topk_sort(&exact);
            memset(sums[slot], 0, sizeof sums[slot]);
            for (int i = 0; i < ROWS; i++)
                brain_add_row_int8(sums[slot], matrix + i * DIM, scales[i], DIM);
            if (exact.count != K || n_estimated != K) return 2;
            for (int i = 0; slot && i < K; i++) {
                brain_hit one = hits[0][i], other = hits[1][i];
                if (one.row == other.row && one.score == other.score &&
                    keys[0][i] == keys[1][i])
                    continue;
                printf("%s: hit %d of round %d differs\n", brain_tier_name(tier), i, round);
                return 1;
            }
            if (slot && memcmp(sums[0], sums[1], sizeof sums[0]) != 0) return 3;
            if (round == 0) printf("%s\n", brain_tier_name(tier));
        }
    }
    return 0;
}
