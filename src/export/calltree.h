/* SPDX-License-Identifier: MIT */
/*
 * calltree.h - the stacks of a flat as a tree of functions, with one metric.
 *
 * Lines are left out: two calls from one function are one node. So what was compiled anew, and moved by a line, is
 * still the same in a difference.
 *
 * Invariants: a node comes after its parent. A node's total is its self and the totals of its children; the root's is
 * the flat's total.
 */
#ifndef PL_CALLTREE_H
#define PL_CALLTREE_H

#include "flat.h"

/* A figure; of a difference, what changed, and what it was before. */
struct pl_weight {
    int64_t value;
    int64_t before; /* value + before is what it is. 0 unless it is a difference */
    float error;    /* half the width of its 95% interval: 0 if it is exact, or nobody has asked */
};

struct pl_calltree_node {
    uint32_t function; /* index into flat->function; PL_FLAT_NONE: the root */
    uint32_t parent;   /* the root is its own */
    uint32_t depth;    /* the root has 0 */
    float rest_error;  /* as `error`, of those children together that nobody has asked for */
    struct pl_weight self, total;
};

struct pl_calltree {
    const struct pl_flat *flat;
    enum pl_metric metric;
    uint32_t nodes;
    struct pl_calltree_node *node;
    uint32_t *end_of_stack; /* by stack of the flat: the node where it ends; the root if it has nothing of the metric */
};

void pl_calltree_make(const struct pl_flat *flat, enum pl_metric metric, struct pl_calltree *out);
void pl_calltree_free(struct pl_calltree *tree);

/* Fills in the errors of these nodes: an estimate for each, from all samples below it. */
void pl_calltree_estimate(struct pl_calltree *tree, const bool *wanted);

static inline void pl_weight_add(struct pl_weight *to, const struct pl_weight *more)
{
    to->value += more->value;
    to->before += more->before;
}

#endif
