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

struct link {
    uint32_t root, block;
};

struct making {
    struct pl_retain *retain;
    const struct pl_retain_namer *namer;
    struct link *link; /* from roots */
    size_t links, room;
    bool full;
    struct pl_graph graph;
    uint32_t *dominator, *order;
};

/* ---- the graph ---- */

static void add_link(struct making *making, struct link link)
{
    const struct link *last = making->links ? &making->link[making->links - 1] : NULL;
    if (last && last->root == link.root && last->block == link.block)
        return;
    if (making->links == making->room) {
        size_t room = making->room ? 2 * making->room : 4096;
        struct link *more = realloc(making->link, room * sizeof *more);
        making->full |= !more;
        if (!more)
            return;
        making->link = more;
        making->room = room;
    }
    making->link[making->links++] = link;
}

static void meet_from_root(struct pl_walk *walk, uint32_t block, bool begins, uint64_t at)
{
    struct making *making = walk->context;
    (void) begins;
    uint32_t root = making->namer->root_at(making->namer->context, walk->space, walk->roots, walk->thread, at);
    if (root >= making->retain->roots)
        making->retain->roots = root + 1;
    add_link(making, (struct link){root, block});
}

static void meet_from_block(struct pl_walk *walk, uint32_t block, bool begins, uint64_t at)
{
    struct making *making = walk->context;
    uint32_t first = 1 + making->retain->roots;
    (void) begins;
    (void) at;
    pl_graph_add(&making->graph, first + walk->from, first + block);
}

static int by_root(const void *left, const void *right)
{
    const struct link *a = left, *b = right;
    return a->root != b->root ? (a->root < b->root ? -1 : 1) : (a->block > b->block) - (a->block < b->block);
}

/* Node 0 leads to all roots, and these to blocks. */
static void add_roots(struct making *making)
{
    uint32_t roots = making->retain->roots;
    if (making->links)
        qsort(making->link, making->links, sizeof *making->link, by_root);
    for (uint32_t r = 0; r < roots; r++)
        pl_graph_add(&making->graph, 0, 1 + r);
    for (size_t i = 0; i < making->links; i++)
        pl_graph_add(&making->graph, 1 + making->link[i].root, 1 + roots + making->link[i].block);
    free(making->link);
    making->link = NULL;
}

static bool collect(struct making *making, struct pl_walk *walk)
{
    walk->context = making;
    walk->meet = meet_from_root;
    pl_walk_roots(walk);
    if (making->full || !pl_graph_begin(&making->graph, 1 + making->retain->roots + walk->census->count))
        return false;
    add_roots(making);
    walk->meet = meet_from_block;
    pl_walk_blocks(walk);
    making->retain->edges = making->graph.edges;
    return pl_graph_end(&making->graph);
}

static bool make_graph(struct making *making, struct pl_census *census, const struct pl_roots *roots,
                       struct pl_space *space)
{
    struct pl_walk walk;
    bool good = pl_walk_begin(&walk, census, roots, space) && collect(making, &walk);
    pl_walk_end(&walk);
    return good;
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
    bool good = make_graph(&making, census, roots, space) && answer(&making, census->count);
    free(making.link);
    pl_graph_free(&making.graph);
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
