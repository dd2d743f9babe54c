/* SPDX-License-Identifier: MIT */
/*
 * dominate.c - see dominate.h.
 *
 * Nodes are numbered in the order of a depth-first search. All tables are by that number, so that "earlier" is "<".
 */
#include "reach/dominate.h"

#include <stdlib.h>
#include <string.h>

#define NONE PL_GRAPH_NONE

struct work {
    const struct pl_graph *graph;
    uint32_t count;     /* nodes that can be reached */
    uint32_t *number;   /* node -> number */
    uint32_t *node;     /* number -> node; the caller's `order` */
    uint32_t *parent;   /* in the tree of the search */
    uint64_t *next;     /* by node: the edge to look at next; later, by number: where its predecessors begin */
    uint32_t *from;     /* predecessors, as numbers */
    uint32_t *semi;     /* semidominators */
    uint32_t *ancestor; /* in the forest of nodes that are done; NONE: a root */
    uint32_t *best;     /* the number with the least semidominator on the way to the root of that forest */
    uint32_t *bucket;   /* number -> the first of those that it semidominates, */
    uint32_t *sibling;  /* and from each to the next */
    uint32_t *idom;
    uint32_t *stack;
};

static bool begin(struct work *work)
{
    uint32_t nodes = work->graph->nodes;
    uint32_t **table[] = {&work->number, &work->parent, &work->semi,    &work->ancestor, &work->best,
                          &work->bucket, &work->idom,   &work->sibling, &work->stack};
    bool good = true;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        *table[i] = malloc((nodes + 1ull) * sizeof **table[i]);
        good &= *table[i] != NULL;
    }
    work->next = malloc((nodes + 2ull) * sizeof *work->next);
    work->from = malloc((work->graph->first[nodes] + 1) * sizeof *work->from);
    return good && work->next && work->from;
}

static void end(struct work *work)
{
    free(work->number);
    free(work->parent);
    free(work->semi);
    free(work->ancestor);
    free(work->best);
    free(work->bucket);
    free(work->idom);
    free(work->sibling);
    free(work->stack);
    free(work->next);
    free(work->from);
}

static void enter(struct work *work, uint32_t node, uint32_t parent)
{
    uint32_t number = work->count++;
    work->number[node] = number;
    work->node[number] = node;
    work->parent[number] = parent;
    work->semi[number] = work->best[number] = number;
    work->ancestor[number] = work->bucket[number] = work->idom[number] = NONE;
}

static void search(struct work *work)
{
    const struct pl_graph *graph = work->graph;
    uint32_t depth = 0;
    memset(work->number, 0xff, graph->nodes * sizeof *work->number);
    memcpy(work->next, graph->first, graph->nodes * sizeof *work->next);
    enter(work, 0, NONE);
    work->stack[depth++] = 0;
    while (depth) {
        uint32_t at = work->stack[depth - 1];
        if (work->next[at] == graph->first[at + 1]) {
            depth--;
            continue;
        }
        uint32_t to = graph->to[work->next[at]++];
        if (work->number[to] != NONE)
            continue;
        enter(work, to, work->number[at]);
        work->stack[depth++] = to;
    }
}

/* Predecessors by number, sorted by counting: next[n] is where those of n begin. */
static void turn_edges(struct work *work)
{
    const struct pl_graph *graph = work->graph;
    memset(work->next, 0, (work->count + 2ull) * sizeof *work->next);
    for (uint32_t n = 0; n < work->count; n++)
        for (uint64_t e = graph->first[work->node[n]]; e < graph->first[work->node[n] + 1]; e++)
            work->next[work->number[graph->to[e]] + 2]++;
    for (uint32_t n = 0; n < work->count; n++)
        work->next[n + 2] += work->next[n + 1];
    for (uint32_t n = 0; n < work->count; n++)
        for (uint64_t e = graph->first[work->node[n]]; e < graph->first[work->node[n] + 1]; e++)
            work->from[work->next[work->number[graph->to[e]] + 1]++] = n;
}

/* Shortens the way to the root of its forest, from the far end on. */
static void compress(struct work *work, uint32_t n)
{
    uint32_t depth = 0;
    for (; work->ancestor[work->ancestor[n]] != NONE; n = work->ancestor[n])
        work->stack[depth++] = n;
    while (depth) {
        uint32_t at = work->stack[--depth], above = work->ancestor[at];
        if (work->semi[work->best[above]] < work->semi[work->best[at]])
            work->best[at] = work->best[above];
        work->ancestor[at] = work->ancestor[above];
    }
}

static uint32_t evaluate(struct work *work, uint32_t n)
{
    if (work->ancestor[n] == NONE)
        return n;
    compress(work, n);
    return work->best[n];
}

static void find_semidominator(struct work *work, uint32_t n)
{
    for (uint64_t e = work->next[n]; e < work->next[n + 1]; e++) {
        uint32_t semi = work->semi[evaluate(work, work->from[e])];
        if (semi < work->semi[n])
            work->semi[n] = semi;
    }
}

static void find_dominators(struct work *work)
{
    for (uint32_t n = work->count - 1; n > 0; n--) {
        uint32_t parent = work->parent[n];
        find_semidominator(work, n);
        work->sibling[n] = work->bucket[work->semi[n]];
        work->bucket[work->semi[n]] = n;
        work->ancestor[n] = parent;
        for (uint32_t each = work->bucket[parent]; each != NONE; each = work->sibling[each]) {
            uint32_t best = evaluate(work, each);
            work->idom[each] = work->semi[best] < work->semi[each] ? best : parent;
        }
        work->bucket[parent] = NONE;
    }
    for (uint32_t n = 1; n < work->count; n++)
        if (work->idom[n] != work->semi[n])
            work->idom[n] = work->idom[work->idom[n]];
}

uint32_t pl_dominate(const struct pl_graph *graph, uint32_t *dominator, uint32_t *order)
{
    struct work work = {.graph = graph, .node = order};
    if (begin(&work)) {
        search(&work);
        turn_edges(&work);
        find_dominators(&work);
        for (uint32_t i = 0; i < graph->nodes; i++)
            dominator[i] = PL_GRAPH_NONE;
        for (uint32_t n = 1; n < work.count; n++)
            dominator[order[n]] = order[work.idom[n]];
    }
    end(&work);
    return work.count;
}
