/* SPDX-License-Identifier: MIT */
/*
 * graph.h - nodes, and edges between them: 8 bytes for each node, 4 for each edge. Edges are added by the node where
 * they begin, in rising order, so that none has to be moved.
 */
#ifndef PL_GRAPH_H
#define PL_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

/* The successors of node n are to[first[n]] ... to[first[n + 1] - 1]. */
struct pl_graph {
    uint32_t nodes; /* at least 1 */
    uint64_t *first;
    uint32_t *to;
    /* while it is made */
    uint64_t edges, room;
    uint32_t last; /* the node where the last edges began */
    bool full;     /* no memory */
};
#define PL_GRAPH_NONE UINT32_MAX

/* False: no memory. */
bool pl_graph_begin(struct pl_graph *graph, uint32_t nodes);

/* An edge that was added just before is not added again. */
void pl_graph_add(struct pl_graph *graph, uint32_t from, uint32_t to);

/* All edges that begin at nodes before `node` are there. */
void pl_graph_reach(struct pl_graph *graph, uint32_t node);

/* All edges are there. False: there was no memory for some. */
bool pl_graph_end(struct pl_graph *graph);
void pl_graph_free(struct pl_graph *graph);

#endif
