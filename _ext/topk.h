/* Bounded selection of the best rows: score descending, then row ascending. */
#ifndef BRAIN_TOPK_H
#define BRAIN_TOPK_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    double score;
    int32_t row;
} brain_hit;

/* A heap whose root is the worst hit kept; `hits` has room for `capacity` of them. */
typedef struct {
    brain_hit *hits;
    ptrdiff_t capacity;
    ptrdiff_t count;
} brain_topk;

static inline int brain_hit_worse(brain_hit a, brain_hit b) {
    return a.score < b.score || (a.score == b.score && a.row > b.row);
}

static inline void brain_topk_sift_down(brain_hit *hits, ptrdiff_t count, brain_hit hit) {
    ptrdiff_t parent = 0;
    for (;;) {
        ptrdiff_t child = 2 * parent + 1;
        if (child >= count) break;
        if (child + 1 < count && brain_hit_worse(hits[child + 1], hits[child])) child++;
        if (!brain_hit_worse(hits[child], hit)) break;
        hits[parent] = hits[child];
        parent = child;
    }
    hits[parent] = hit;
}

/* Offer a hit. A NaN score must be kept out by the caller. */
static inline void brain_topk_push(brain_topk *top, double score, int32_t row) {
    brain_hit hit = {score, row};
    if (top->count < top->capacity) {
        ptrdiff_t child = top->count++;
        while (child > 0) {
            ptrdiff_t parent = (child - 1) / 2;
            if (!brain_hit_worse(hit, top->hits[parent])) break;
            top->hits[child] = top->hits[parent];
            child = parent;
        }
        top->hits[child] = hit;
    } else if (brain_hit_worse(top->hits[0], hit)) {
        brain_topk_sift_down(top->hits, top->count, hit);
    }
}

/* A score below this cannot enter; an equal one enters only with a smaller row. */
static inline double brain_topk_threshold(const brain_topk *top) {
    return top->count < top->capacity ? -__builtin_inf() : top->hits[0].score;
}

/* Order the kept hits best first; the heap is spent afterwards. */
static inline void brain_topk_sort(brain_topk *top) {
    for (ptrdiff_t last = top->count - 1; last > 0; last--) {
        brain_hit worst = top->hits[0];
        brain_topk_sift_down(top->hits, last, top->hits[last]);
        top->hits[last] = worst;
    }
}

#endif
