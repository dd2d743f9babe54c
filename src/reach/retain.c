/* SPDX-License-Identifier: MIT */
/*
 * retain.c - see retain.h.
 *
 * Node 0 of the graph leads to all roots, which have numbers from 1 on; then come the blocks.
 */
#include "reach/retain.h"

#include <stdlib.h>
#include <string.h>

#include "reach/dominate.h"
#include "reach/walk.h"

#define OF_ROOT (1u << 31) /* an edge from a root; else from a block */

struct edge {
    uint32_t from, to;
};

struct making {
    struct pl_retain *retain;
    const struct pl_retain_namer *namer;
    struct edge *edge;
    uint64_t edges, room;
    bool full;
    struct pl_graph graph;
    uint32_t *dominator, *order;
};

/* ---- edges ---- */

static void add_edge(struct making *making, uint32_t from, uint32_t to)
{
    const struct edge *last = making->edges ? &making->edge[making->edges - 1] : NULL;
    if (last && last->from == from && last->to == to)
        return;
    if (making->edges == making->room) {
        uint64_t room = making->room ? making->room + making->room / 2 : 1u << 16;
        struct edge *more = realloc(making->edge, room * sizeof *more);
        if (!more) {
            making->full = true;
            return;
        }
        making->edge = more;
        making->room = room;
    }
    making->edge[making->edges++] = (struct edge){from, to};
}

static void meet(struct pl_walk *walk, uint32_t block, bool begins, uint64_t at)
{
    struct making *making = walk->context;
    (void) begins;
    if (walk->from != PL_CENSUS_NONE) {
        add_edge(making, walk->from, block);
        return;
    }
    uint32_t root = making->namer->root_at(making->namer->context, walk->space, walk->roots, walk->thread, at);
    if (root >= making->retain->roots)
        making->retain->roots = root + 1;
    add_edge(making, OF_ROOT | root, block);
}

static bool collect(struct making *making, struct pl_census *census, const struct pl_roots *roots,
                    struct pl_space *space)
{
    struct pl_walk walk;
    if (!pl_walk_begin(&walk, census, roots, space))
        return false;
    walk.meet = meet;
    walk.context = making;
    pl_walk_roots(&walk);
    for (uint32_t i = 0; i < census->count; i++)
        walk.waiting[i] = i;
    for (uint32_t done = 0; done < census->count && !making->full && !space->stopped;)
        done += (uint32_t) pl_walk_scan(&walk, walk.waiting + done, census->count - done);
    pl_walk_end(&walk);
    return !making->full;
}

/* ---- the graph ---- */

static uint32_t node_of_block(const struct making *making, uint32_t block)
{
    return 1 + making->retain->roots + block;
}

static uint32_t node_of(const struct making *making, uint32_t from)
{
    return from & OF_ROOT ? 1 + (from & ~OF_ROOT) : node_of_block(making, from);
}

/* Sorts edges by where they begin, by counting. */
static bool make_graph(struct making *making, uint32_t blocks)
{
    struct pl_graph *graph = &making->graph;
    uint32_t roots = making->retain->roots;
    graph->nodes = 1 + roots + blocks;
    graph->first = calloc(graph->nodes + 2ull, sizeof *graph->first);
    graph->to = malloc((making->edges + roots + 1) * sizeof *graph->to);
    if (!graph->first || !graph->to)
        return false;
    uint64_t *next = graph->first + 1; /* after sorting, first[n + 1] is where those of n end */
    next[1] = roots;
    for (uint64_t e = 0; e < making->edges; e++)
        next[node_of(making, making->edge[e].from) + 1]++;
    for (uint32_t n = 1; n < graph->nodes; n++)
        next[n] += next[n - 1];
    for (uint32_t r = 0; r < roots; r++)
        graph->to[next[0]++] = 1 + r;
    for (uint64_t e = 0; e < making->edges; e++)
        graph->to[next[node_of(making, making->edge[e].from)]++] = node_of_block(making, making->edge[e].to);
    free(making->edge);
    making->edge = NULL;
    return true;
}

/* ---- answers ---- */

/* `order` has each node after its dominator. While this runs, root[block] is the node below node 0 that dominates it.
 */
static void find_roots(struct making *making, uint32_t count)
{
    uint32_t *root = making->retain->root, roots = making->retain->roots, first = 1 + roots;
    for (uint32_t i = 1; i < count; i++) {
        uint32_t node = making->order[i], above = making->dominator[node];
        if (node < first)
            continue;
        if (above >= first)
            making->retain->above[node - first] = above - first;
        if (above == 0)
            root[node - first] = PL_RETAIN_SEVERAL;
        else
            root[node - first] = above < first ? above - 1 : root[above - first];
    }
}

/* Breadth first: `order` is the queue. */
static void find_ways(struct making *making)
{
    struct pl_retain *retain = making->retain;
    const struct pl_graph *graph = &making->graph;
    uint32_t first = 1 + retain->roots, head = 0, tail = 0;
    for (uint32_t r = 0; r < retain->roots; r++)
        making->order[tail++] = 1 + r;
    while (head < tail) {
        uint32_t node = making->order[head++];
        for (uint64_t e = graph->first[node]; e < graph->first[node + 1]; e++) {
            uint32_t block = graph->to[e] - first;
            if (retain->from[block] != PL_RETAIN_LOST)
                continue;
            retain->via[block] = node < first ? PL_CENSUS_NONE : node - first;
            retain->from[block] = node < first ? node - 1 : retain->from[node - first];
            making->order[tail++] = graph->to[e];
        }
    }
}

static bool answer(struct making *making, uint32_t blocks)
{
    struct pl_retain *retain = making->retain;
    retain->edges = making->edges;
    if (!make_graph(making, blocks))
        return false;
    making->dominator = malloc(making->graph.nodes * sizeof *making->dominator);
    making->order = malloc(making->graph.nodes * sizeof *making->order);
    retain->root = malloc((blocks + 1ull) * sizeof *retain->root);
    retain->above = malloc((blocks + 1ull) * sizeof *retain->above);
    retain->via = malloc((blocks + 1ull) * sizeof *retain->via);
    retain->from = malloc((blocks + 1ull) * sizeof *retain->from);
    if (!making->dominator || !making->order || !retain->root || !retain->above || !retain->via || !retain->from)
        return false;
    memset(retain->root, 0xff, blocks * sizeof *retain->root);
    memset(retain->above, 0xff, blocks * sizeof *retain->above);
    memset(retain->via, 0xff, blocks * sizeof *retain->via);
    memset(retain->from, 0xff, blocks * sizeof *retain->from);
    uint32_t count = pl_dominate(&making->graph, making->dominator, making->order);
    if (count == 0)
        return false;
    find_roots(making, count);
    find_ways(making);
    return true;
}

bool pl_retain_find(struct pl_retain *retain, struct pl_census *census, const struct pl_roots *roots,
                    struct pl_space *space, const struct pl_retain_namer *namer)
{
    struct making making = {.retain = retain, .namer = namer};
    *retain = (struct pl_retain){0};
    bool good = collect(&making, census, roots, space) && answer(&making, census->count);
    free(making.edge);
    free(making.graph.first);
    free(making.graph.to);
    free(making.dominator);
    free(making.order);
    if (!good)
        pl_retain_free(retain);
    return good;
}

void pl_retain_free(struct pl_retain *retain)
{
    free(retain->root);
    free(retain->above);
    free(retain->via);
    free(retain->from);
    *retain = (struct pl_retain){0};
}
