/* SPDX-License-Identifier: MIT */
/*
 * dominate.h - dominators of a directed graph: node d dominates node n if every path from node 0 to n passes d. The
 * nearest such d is n's immediate dominator. If d were removed, n and everything else that d dominates could not be
 * reached any more: so what a node retains is the sum over its subtree in the tree of immediate dominators.
 *
 * Lengauer and Tarjan's algorithm, with simple path compression: O(edges · log nodes), without recursion.
 */
#ifndef PL_DOMINATE_H
#define PL_DOMINATE_H

#include "reach/graph.h"

/* Fills dominator[n]: PL_GRAPH_NONE for node 0, and for nodes that cannot be reached from it. `order`, also with room
 * for all nodes, gets the nodes that can be reached, each after its dominator; returns how many. 0: no memory. */
uint32_t pl_dominate(const struct pl_graph *graph, uint32_t *dominator, uint32_t *order);

#endif
