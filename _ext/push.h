/* Forward push for personalised PageRank (Andersen, Chung and Lang, 2006) over CSR segments. */
#ifndef BRAIN_PUSH_H
#define BRAIN_PUSH_H

#include <math.h>

#include "csr.h"

/* One immutable run of directed edges, by source node. */
typedef struct {
    brain_csr sources;
    int32_t *targets;
    float *weights;
    int32_t *evidence;
    int64_t n_edges;
    int32_t largest_node;
    int32_t largest_row; /* of passages and of evidence */
} brain_edges;

/* What a walk runs over; the arrays cover every node and row of the segments. */
typedef struct {
    brain_edges *const *parts;
    ptrdiff_t n_parts;
    const float *factors;   /* by node */
    const uint8_t *visible; /* by row */
    double damping;
    double epsilon;
} brain_terrain;

/* Parents that are no slot. */
enum { BRAIN_SEED = -1, BRAIN_UNTOUCHED = -2 };

/* A node that a walk has met.  Slots number them in the order of meeting. */
typedef struct {
    double residual;
    double estimate;
    double pushed;    /* what this round takes from it */
    double gift;      /* what the parent gave */
    int64_t start;    /* of its edges in the walk's adjacency; -1 = not there yet */
    int32_t degree;   /* its counting edges; a lower bound while start is -1 */
    int32_t node;
    int32_t parent;   /* slot that gave it most in the round it was met, or one of the above */
    int32_t met;      /* that round */
    int32_t next;     /* slot behind it in the queue; -1 = last */
    int32_t following; /* slot that this round pushes after it; -1 = last */
    int32_t queued;
} brain_walk_node;

/* Scratch of one walk; `slot_of` is all zero between walks. */
typedef struct {
    int32_t *slot_of; /* by node: slot + 1 */
    ptrdiff_t n_nodes;
    brain_walk_node *states;
    int32_t n_states, states_size;
    int32_t *targets; /* adjacency: slots ... */
    double *shares;   /* ... and transition probabilities */
    int64_t n_entries, entries_size;
    int32_t head, tail; /* of the queue of slots for the next round; head -1 = empty */
    int32_t round;
    double leaked;      /* mass that reached nodes without a counting edge */
} brain_walk;

/* Edges whose targets are looked up while earlier ones are still loading. */
#define BRAIN_EDGES_AHEAD 32

/* Adjacency entries that a walk keeps room for between calls. */
#define BRAIN_KEPT_ENTRIES (1 << 20)

static inline void brain_walk_free(brain_walk *walk) {
    free(walk->slot_of);
    free(walk->states);
    free(walk->targets);
    free(walk->shares);
}

/* Prepare an empty walk over n_nodes; -1 = no memory. */
static inline int brain_walk_begin(brain_walk *walk, ptrdiff_t n_nodes) {
    if (n_nodes > walk->n_nodes) {
        free(walk->slot_of);
        walk->n_nodes = 0;
        n_nodes += n_nodes / 4;
        walk->slot_of = calloc((size_t)n_nodes, sizeof *walk->slot_of);
        if (walk->slot_of == NULL) return -1;
        walk->n_nodes = n_nodes;
    }
    walk->head = walk->tail = -1;
    walk->round = 0;
    walk->leaked = 0;
    return 0;
}

static inline void brain_walk_end(brain_walk *walk) {
    for (int32_t i = 0; i < walk->n_states; i++) walk->slot_of[walk->states[i].node] = 0;
    walk->n_states = 0;
    walk->n_entries = 0;
    if (walk->entries_size > BRAIN_KEPT_ENTRIES) {
        free(walk->targets);
        free(walk->shares);
        walk->targets = NULL;
        walk->shares = NULL;
        walk->entries_size = 0;
    }
}

/* Slot of a node, given if it has none; -1 = no memory. */
static inline int32_t brain_walk_slot(brain_walk *walk, int32_t node) {
    int32_t slot = walk->slot_of[node] - 1;
    if (slot >= 0) return slot;
    if (walk->n_states == walk->states_size) {
        size_t size = 2 * (size_t)walk->states_size + 1024;
        if (size > INT32_MAX) return -1;
        brain_walk_node *states = realloc(walk->states, size * sizeof *states);
        if (states == NULL) return -1;
        walk->states = states;
        walk->states_size = (int32_t)size;
    }
    slot = walk->n_states++;
    walk->slot_of[node] = slot + 1;
    walk->states[slot] = (brain_walk_node){.start = -1, .node = node, .parent = BRAIN_UNTOUCHED};
    return slot;
}

/* Add to the residual of a node, and queue the node when that is enough to push. */
static inline void brain_walk_give(brain_walk *walk, int32_t slot, double mass, int32_t parent,
                                   double epsilon) {
    brain_walk_node *state = &walk->states[slot];
    state->residual += mass;
    if (state->parent == BRAIN_UNTOUCHED ||
        (state->met == walk->round && parent >= 0 &&
         (mass > state->gift ||
          (mass == state->gift &&
           walk->states[parent].node < walk->states[state->parent].node)))) {
        state->parent = parent;
        state->gift = mass;
        state->met = walk->round;
    }
    if (state->queued || state->residual <= epsilon * (state->degree > 1 ? state->degree : 1))
        return;
    state->queued = 1;
    state->next = -1;
    if (walk->head < 0) walk->head = slot;
    else walk->states[walk->tail].next = slot;
    walk->tail = slot;
}

/* Whether an edge may be walked: its evidence, and its target when that is a passage. */
static inline int brain_edge_visible(const brain_edges *part, int64_t at,
                                     const uint8_t *visible) {
    int32_t evidence = part->evidence[at], target = part->targets[at];
    return (evidence < 0 || visible[evidence]) && (target % 2 || visible[target / 2]);
}

/* The factor of a walkable edge's target; 0 = the edge does not count. */
static inline float brain_edge_factor(const brain_terrain *terrain, const brain_edges *part,
                                      int64_t at) {
    float factor = terrain->factors[part->targets[at]];
    return factor > 0 && factor < INFINITY && brain_edge_visible(part, at, terrain->visible)
               ? factor
               : 0.0f;
}

/* Counting edges of a node; no more than `limit` + 1 are looked for. */
static inline int64_t brain_count_edges(const brain_terrain *terrain, int32_t node,
                                        double limit) {
    int64_t n = 0, at, end;
    for (ptrdiff_t p = 0; p < terrain->n_parts; p++) {
        const brain_edges *part = terrain->parts[p];
        brain_csr_find(&part->sources, (uint32_t)node, &at, &end);
        for (; at < end; at++) {
            n += brain_edge_factor(terrain, part, at) > 0;
            if ((double)n > limit) return n;
        }
    }
    return n;
}

/* Start to load the edges of the nodes that this round meets first: a walk reads a few bytes
 * in many places, and waits for memory more than it computes. */
static inline void brain_walk_prefetch(const brain_walk *walk, const brain_terrain *terrain) {
    int64_t at, end;
    for (int32_t slot = walk->head; slot >= 0; slot = walk->states[slot].next)
        for (ptrdiff_t p = 0; walk->states[slot].start < 0 && p < terrain->n_parts; p++)
            brain_csr_prefetch(&terrain->parts[p]->sources, (uint32_t)walk->states[slot].node);
    for (int32_t slot = walk->head; slot >= 0; slot = walk->states[slot].next)
        for (ptrdiff_t p = 0; walk->states[slot].start < 0 && p < terrain->n_parts; p++) {
            const brain_edges *part = terrain->parts[p];
            brain_csr_find(&part->sources, (uint32_t)walk->states[slot].node, &at, &end);
            if (at == end) continue;
            __builtin_prefetch(part->targets + at);
            __builtin_prefetch(part->weights + at);
            __builtin_prefetch(part->evidence + at);
        }
}

/* The same for what is looked up by the targets of some edges. */
static inline void brain_edges_prefetch(const brain_walk *walk, const brain_terrain *terrain,
                                        const brain_edges *part, int64_t at, int64_t end) {
    for (; at < end; at++) {
        int32_t target = part->targets[at], evidence = part->evidence[at];
        __builtin_prefetch(walk->slot_of + target);
        __builtin_prefetch(terrain->factors + target);
        if (target % 2 == 0) __builtin_prefetch(terrain->visible + target / 2);
        if (evidence >= 0) __builtin_prefetch(terrain->visible + evidence);
    }
}

/* Fetch the counting edges of a node; -1 = no memory.  A hub that has too little mass to be
 * pushed is left after a count of at most twice the edges that its mass would suffice for. */
static inline int brain_walk_expand(brain_walk *walk, const brain_terrain *terrain,
                                    int32_t slot) {
    int32_t node = walk->states[slot].node;
    int64_t n_raw = 0, at, end, first = walk->n_entries;
    double limit = 2 * walk->states[slot].residual / terrain->epsilon, total = 0;
    for (ptrdiff_t p = 0; p < terrain->n_parts; p++) {
        brain_csr_find(&terrain->parts[p]->sources, (uint32_t)node, &at, &end);
        n_raw += end - at;
    }
    if (2 * (double)n_raw > limit) {
        int64_t n = brain_count_edges(terrain, node, limit);
        walk->states[slot].degree = (int32_t)n;
        if (2 * (double)n >= limit) return 0;
    }
    if (first + n_raw > walk->entries_size) {
        int64_t size = first + n_raw + (first + n_raw) / 2 + 4096;
        int32_t *targets = realloc(walk->targets, (size_t)size * sizeof *targets);
        if (targets == NULL) return -1;
        walk->targets = targets;
        double *shares = realloc(walk->shares, (size_t)size * sizeof *shares);
        if (shares == NULL) return -1;
        walk->shares = shares;
        walk->entries_size = size;
    }
    for (ptrdiff_t p = 0; p < terrain->n_parts; p++) {
        const brain_edges *part = terrain->parts[p];
        brain_csr_find(&part->sources, (uint32_t)node, &at, &end);
        for (int64_t ahead = at; at < end; at++) {
            if (at == ahead) {
                ahead = at + BRAIN_EDGES_AHEAD < end ? at + BRAIN_EDGES_AHEAD : end;
                brain_edges_prefetch(walk, terrain, part, at, ahead);
            }
            float factor = brain_edge_factor(terrain, part, at);
            if (factor == 0) continue;
            int32_t target = brain_walk_slot(walk, part->targets[at]);
            if (target < 0) return -1;
            walk->targets[walk->n_entries] = target;
            walk->shares[walk->n_entries] = (double)part->weights[at] * factor;
            total += walk->shares[walk->n_entries++];
        }
    }
    for (int64_t i = first; i < walk->n_entries; i++) walk->shares[i] /= total;
    walk->states[slot].start = first;
    walk->states[slot].degree = (int32_t)(walk->n_entries - first);
    return 0;
}

/* Push until no residual is large, or at least max_pushes were made; -1 = no memory.
 *
 * In rounds: what a round pushes is taken before any of it is given, so the outcome does not
 * depend on the order of nodes and edges, which differs between a graph that grew and the same
 * graph loaded anew. */
static inline int brain_walk_push(brain_walk *walk, const brain_terrain *terrain,
                                  int64_t max_pushes) {
    for (int64_t n_pushes = 0; walk->head >= 0 && n_pushes < max_pushes;) {
        int32_t first = -1, last = -1;
        walk->round++;
        brain_walk_prefetch(walk, terrain);
        for (int32_t slot = walk->head; slot >= 0; slot = walk->states[slot].next) {
            walk->states[slot].queued = 0;
            if (walk->states[slot].start < 0 && brain_walk_expand(walk, terrain, slot) < 0)
                return -1;
            brain_walk_node *state = &walk->states[slot];
            if (state->start < 0 ||
                state->residual <= terrain->epsilon * (state->degree > 1 ? state->degree : 1))
                continue;
            state->pushed = terrain->damping * state->residual;
            state->estimate += (1 - terrain->damping) * state->residual;
            state->residual = 0;
            state->following = -1;
            if (first < 0) first = slot;
            else walk->states[last].following = slot;
            last = slot;
            n_pushes++;
        }
        walk->head = walk->tail = -1;
        for (int32_t slot = first; slot >= 0; slot = walk->states[slot].following) {
            const brain_walk_node *state = &walk->states[slot];
            if (state->degree == 0) walk->leaked += state->pushed;
            for (int64_t i = state->start; i < state->start + state->degree; i++)
                brain_walk_give(walk, walk->targets[i], state->pushed * walk->shares[i], slot,
                                terrain->epsilon);
        }
    }
    return 0;
}

#endif
