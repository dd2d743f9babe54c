/* SPDX-License-Identifier: MIT */
/*
 * callgraph.c - who calls whom.
 *
 * A walk goes from each node of the tree that has something of its own to the root, and adds that to the functions and
 * pairs of functions it meets, to each once. It is done twice: first with all functions, to see which of them matter;
 * then with those alone.
 */
#include "export/pictures/callgraph.h"

#include <stdlib.h>
#include <string.h>

#include "export/pairs.h"
#include "reader/base/grow.h"

#define NONE UINT32_MAX

struct edge {
    struct pl_callgraph_edge sum;
    uint32_t last; /* node of the tree whose path was added last */
};

struct walk {
    const struct pl_calltree *tree;
    const bool *left_out;           /* by function; NULL: none is */
    struct pl_callgraph_node *node; /* by function */
    uint32_t *last;                 /* likewise: as in struct edge */
    struct edge *edge;              /* between functions */
    uint32_t edges, capacity;
    struct pl_pairs pairs; /* of functions: edge[number] is between them */
    uint64_t moved;
};

/* --- paths --- */

static struct edge *edge_of(struct walk *walk, uint32_t from, uint32_t to)
{
    uint32_t number = pl_pairs_number(&walk->pairs, from, to);
    if (number == walk->edges) {
        walk->edge = pl_grow(walk->edge, walk->edges, &walk->capacity, sizeof *walk->edge);
        walk->edge[walk->edges++] = (struct edge){.sum = {.from = from, .to = to, .indirect = true}, .last = NONE};
    }
    return &walk->edge[number];
}

static uint64_t size_of(const struct pl_weight *weight)
{
    return weight->value < 0 ? -(uint64_t) weight->value : (uint64_t) weight->value;
}

static void meet_function(struct walk *walk, uint32_t function, uint32_t path)
{
    struct pl_callgraph_node *node = &walk->node[function];
    const struct pl_weight *weight = &walk->tree->node[path].self;
    if (walk->last[function] == path)
        return;
    walk->last[function] = path;
    node->function = function;
    pl_calltree_add(&node->total, weight);
    node->moved += size_of(weight);
}

static void meet_call(struct walk *walk, uint32_t from, uint32_t to, bool direct, uint32_t path)
{
    const struct pl_weight *weight = &walk->tree->node[path].self;
    if (from == to && !direct)
        return; /* indirect recursion: not worth an arrow */
    struct edge *edge = edge_of(walk, from, to);
    if (direct)
        edge->sum.indirect = false;
    if (edge->last == path)
        return;
    edge->last = path;
    pl_calltree_add(&edge->sum.weight, weight);
    edge->sum.moved += size_of(weight);
}

static void walk_path(struct walk *walk, uint32_t path)
{
    const struct pl_calltree_node *node = walk->tree->node;
    uint32_t callee = NONE;
    bool direct = true;
    if (!node[path].self.value && !node[path].self.before)
        return;
    walk->moved += size_of(&node[path].self);
    if (path)
        pl_calltree_add(&walk->node[node[path].function].self, &node[path].self);
    for (uint32_t at = path; at; at = node[at].parent) {
        uint32_t function = node[at].function;
        if (walk->left_out && walk->left_out[function]) {
            direct = false;
            continue;
        }
        meet_function(walk, function, path);
        if (callee != NONE)
            meet_call(walk, function, callee, direct, path);
        callee = function;
        direct = true;
    }
}

static void walk_all(const struct pl_calltree *tree, const bool *left_out, struct walk *out)
{
    uint32_t functions = tree->flat->functions;
    *out = (struct walk){.tree = tree, .left_out = left_out, .pairs = pl_pairs_new()};
    out->node = pl_grow_zeroed(functions + 1ull, sizeof *out->node);
    out->last = pl_grow_zeroed(functions + 1ull, sizeof *out->last);
    memset(out->last, 0xff, functions * sizeof *out->last);
    for (uint32_t i = 0; i < tree->nodes; i++)
        walk_path(out, i);
}

static void end_walk(struct walk *walk)
{
    pl_pairs_free(&walk->pairs);
    free(walk->edge);
    free(walk->last);
    free(walk->node);
}

/* --- what matters --- */

struct candidate {
    uint32_t function;
    uint64_t missed; /* what the graph would not show without it */
    uint64_t moved;
};

static int by_missed(const void *a, const void *b)
{
    const struct candidate *first = a, *second = b;
    if (first->missed != second->missed)
        return first->missed < second->missed ? 1 : -1;
    if (first->moved != second->moved)
        return first->moved < second->moved ? 1 : -1;
    return first->function < second->function ? -1 : first->function > second->function;
}

static void raise(uint64_t *to, uint64_t value)
{
    *to = value > *to ? value : *to;
}

/*
 * A function that has one caller and one callee, and allocates nothing itself, can be left out: an arrow from the
 * caller to the callee says as much. What is lost without a function is its self, what does not come from its largest
 * caller, and what does not go on to its largest callee.
 */
static struct candidate *rate(const struct walk *walk)
{
    uint32_t functions = walk->tree->flat->functions;
    struct candidate *candidate = pl_grow_zeroed(functions + 1ull, sizeof *candidate);
    uint64_t *in = pl_grow_zeroed(functions + 1ull, sizeof *in), *out = pl_grow_zeroed(functions + 1ull, sizeof *out);
    for (uint32_t i = 0; i < walk->edges; i++) {
        const struct pl_callgraph_edge *edge = &walk->edge[i].sum;
        if (edge->from == edge->to)
            continue;
        raise(&out[edge->from], edge->moved);
        raise(&in[edge->to], edge->moved);
    }
    for (uint32_t i = 0; i < functions; i++) {
        uint64_t moved = walk->node[i].moved;
        candidate[i] = (struct candidate){i, 2 * moved - in[i] - out[i] + size_of(&walk->node[i].self), moved};
    }
    free(out);
    free(in);
    return candidate;
}

/* Returns by function whether it is left out. */
static bool *choose(const struct walk *walk, const struct pl_callgraph_bounds *bounds)
{
    uint32_t functions = walk->tree->flat->functions, kept = 0;
    bool *left_out = pl_grow_zeroed(functions + 1ull, sizeof *left_out);
    struct candidate *candidate = rate(walk);
    double least = bounds->threshold * (double) walk->moved;
    qsort(candidate, functions, sizeof *candidate, by_missed);
    for (uint32_t i = 0; i < functions; i++) {
        bool heavy = (double) candidate[i].moved >= least && candidate[i].moved > 0;
        left_out[candidate[i].function] = !heavy || kept >= bounds->nodes;
        kept += heavy;
    }
    free(candidate);
    return left_out;
}

/* --- the graph --- */

static int by_moved(const void *a, const void *b)
{
    const struct pl_callgraph_node *first = a, *second = b;
    if (first->moved != second->moved)
        return first->moved < second->moved ? 1 : -1;
    return first->function < second->function ? -1 : first->function > second->function;
}

static int by_weight(const void *a, const void *b)
{
    const struct pl_callgraph_edge *first = a, *second = b;
    if (first->moved != second->moved)
        return first->moved < second->moved ? 1 : -1;
    if (first->from != second->from)
        return first->from < second->from ? -1 : 1;
    return first->to < second->to ? -1 : first->to > second->to;
}

/* The largest call to each function is kept, however small. */
static bool *find_main_calls(const struct walk *walk)
{
    uint32_t functions = walk->tree->flat->functions, *largest = pl_grow_zeroed(functions + 1ull, sizeof *largest);
    bool *is_main = pl_grow_zeroed(walk->edges + 1ull, sizeof *is_main);
    for (uint32_t i = 0; i < walk->edges; i++) {
        const struct pl_callgraph_edge *edge = &walk->edge[i].sum;
        uint32_t *to = &largest[edge->to];
        if (edge->from != edge->to && (!*to || edge->moved > walk->edge[*to - 1].sum.moved))
            *to = i + 1;
    }
    for (uint32_t i = 0; i < functions; i++)
        if (largest[i])
            is_main[largest[i] - 1] = true;
    free(largest);
    return is_main;
}

static void gather(const struct walk *walk, double least, struct pl_callgraph *out)
{
    uint32_t functions = walk->tree->flat->functions;
    uint32_t *at = pl_grow_zeroed(functions + 1ull, sizeof *at);
    bool *is_main = find_main_calls(walk);
    out->node = pl_grow_zeroed(functions + 1ull, sizeof *out->node);
    out->edge = pl_grow_zeroed(walk->edges + 1ull, sizeof *out->edge);
    for (uint32_t i = 0; i < functions; i++)
        if (walk->last[i] != NONE && !walk->left_out[i])
            out->node[out->nodes++] = walk->node[i];
    qsort(out->node, out->nodes, sizeof *out->node, by_moved);
    for (uint32_t i = 0; i < out->nodes; i++)
        at[out->node[i].function] = i;
    for (uint32_t i = 0; i < walk->edges; i++) {
        struct pl_callgraph_edge edge = walk->edge[i].sum;
        if ((double) edge.moved < least && !is_main[i])
            continue;
        edge.from = at[edge.from];
        edge.to = at[edge.to];
        out->edge[out->edges++] = edge;
    }
    qsort(out->edge, out->edges, sizeof *out->edge, by_weight);
    free(is_main);
    free(at);
}

void pl_callgraph_make(const struct pl_calltree *tree, const struct pl_callgraph_bounds *bounds,
                       struct pl_callgraph *out)
{
    struct walk all, shown;
    *out = (struct pl_callgraph){0};
    walk_all(tree, NULL, &all);
    out->moved = all.moved;
    for (uint32_t i = 0; i < tree->flat->functions; i++)
        out->functions += all.last[i] != NONE;
    bool *left_out = choose(&all, bounds);
    end_walk(&all);
    walk_all(tree, left_out, &shown);
    gather(&shown, bounds->threshold * (double) out->moved, out);
    end_walk(&shown);
    free(left_out);
}

/* --- errors --- */

struct sums {
    struct pl_calltree_errors self, total;
    uint32_t last; /* site that was added last, plus one */
};

/* `number` is by function: that of its node, plus one. */
static void add_site(const struct pl_calltree *tree, uint32_t site, const uint32_t *number, struct sums *sums)
{
    const struct pl_profile *profile = tree->flat->profile;
    uint32_t end = pl_calltree_end(tree, site);
    for (uint32_t at = end; at; at = tree->node[at].parent) {
        uint32_t node = number[tree->node[at].function];
        if (!node)
            continue;
        struct sums *sum = &sums[node - 1];
        if (at == end)
            pl_calltree_add_errors(&sum->self, profile, site);
        if (sum->last != site + 1)
            pl_calltree_add_errors(&sum->total, profile, site);
        sum->last = site + 1;
    }
}

void pl_callgraph_estimate(struct pl_callgraph *graph, const struct pl_calltree *tree)
{
    const struct pl_profile *profile = tree->flat->profile;
    if (profile->exact)
        return;
    uint32_t *number = pl_grow_zeroed(tree->flat->functions + 1ull, sizeof *number);
    struct sums *sums = pl_grow_zeroed(graph->nodes + 1ull, sizeof *sums);
    for (uint32_t i = 0; i < graph->nodes; i++)
        number[graph->node[i].function] = i + 1;
    for (uint32_t i = 0; i < profile->sites; i++)
        add_site(tree, i, number, sums);
    for (uint32_t i = 0; i < graph->nodes; i++) {
        graph->node[i].self.error = pl_calltree_error(&sums[i].self, tree->metric);
        graph->node[i].total.error = pl_calltree_error(&sums[i].total, tree->metric);
    }
    free(sums);
    free(number);
}

void pl_callgraph_free(struct pl_callgraph *graph)
{
    free(graph->node);
    free(graph->edge);
    *graph = (struct pl_callgraph){0};
}
