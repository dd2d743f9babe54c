/* SPDX-License-Identifier: MIT */
/*
 * callgraph.h - who calls whom, with one metric: each function once, however it was reached.
 *
 * A function's total is that of the stacks it is in, each counted once: recursion does not add up. Functions that are
 * too small are left out; calls through them become indirect calls between those that remain. Small calls are left out,
 * except the largest call to each function.
 *
 * In a difference, growth and shrinkage must not cancel out: `moved` decides, the sum of all changes without their
 * sign. Otherwise it is the total.
 */
#ifndef PL_CALLGRAPH_H
#define PL_CALLGRAPH_H

#include "export/pictures/calltree.h"

struct pl_callgraph_node {
    uint32_t function; /* index into flat->function */
    struct pl_weight self, total;
    uint64_t moved;
};

struct pl_callgraph_edge {
    uint32_t from, to; /* indexes of nodes */
    struct pl_weight weight;
    uint64_t moved;
    bool indirect; /* only through functions that are left out */
};

struct pl_callgraph {
    uint32_t nodes; /* by `moved`, the largest first */
    struct pl_callgraph_node *node;
    uint32_t edges; /* likewise */
    struct pl_callgraph_edge *edge;
    uint32_t functions; /* including those that are left out */
    uint64_t moved;     /* of everything */
};

struct pl_callgraph_bounds {
    double threshold; /* a fraction of the whole: functions and calls with less are left out */
    uint32_t nodes;   /* at most so many: those that are missed least are left out */
};

void pl_callgraph_make(const struct pl_calltree *tree, const struct pl_callgraph_bounds *bounds,
                       struct pl_callgraph *out);

/* Fills in the errors of nodes. */
void pl_callgraph_estimate(struct pl_callgraph *graph, const struct pl_calltree *tree);
void pl_callgraph_free(struct pl_callgraph *graph);

#endif
