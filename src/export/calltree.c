/* SPDX-License-Identifier: MIT */
/*
 * calltree.c - the stacks of a flat as a tree of functions.
 */
#include "calltree.h"

#include <stdlib.h>

#include "errors.h"
#include "grow.h"
#include "pairs.h"

struct builder {
    struct pl_calltree *tree;
    uint32_t capacity;
    struct pl_pairs pairs; /* parent and function of each node but the root */
};

static uint32_t append(struct builder *builder, uint32_t parent, uint32_t function)
{
    struct pl_calltree *tree = builder->tree;
    tree->node = pl_grow(tree->node, tree->nodes, &builder->capacity, sizeof *tree->node);
    tree->node[tree->nodes] = (struct pl_calltree_node){
        .function = function, .parent = parent, .depth = tree->nodes ? tree->node[parent].depth + 1 : 0};
    return tree->nodes++;
}

static uint32_t child_of(struct builder *builder, uint32_t parent, uint32_t function)
{
    uint32_t child = pl_pairs_number(&builder->pairs, parent, function) + 1;
    return child < builder->tree->nodes ? child : append(builder, parent, function);
}

static void add_row(struct builder *builder, const struct pl_flat_row *row, uint32_t *line)
{
    struct pl_calltree *tree = builder->tree;
    struct pl_weight weight = {.value = row->value[tree->metric], .before = row->base[tree->metric]};
    uint32_t at = 0;
    if (!weight.value && !weight.before)
        return;
    uint32_t lines = pl_flat_stack(tree->flat, row->stack, line);
    for (uint32_t i = 0; i < lines; i++)
        at = child_of(builder, at, tree->flat->line[line[i]].function);
    pl_weight_add(&tree->node[at].self, &weight);
    tree->end_of_stack[row->stack] = at;
}

static void add_up(struct pl_calltree *tree)
{
    for (uint32_t i = tree->nodes; i-- > 0;) {
        struct pl_calltree_node *node = &tree->node[i];
        pl_weight_add(&node->total, &node->self);
        if (i)
            pl_weight_add(&tree->node[node->parent].total, &node->total);
    }
}

void pl_calltree_make(const struct pl_flat *flat, enum pl_metric metric, struct pl_calltree *out)
{
    *out = (struct pl_calltree){.flat = flat, .metric = metric};
    struct builder builder = {.tree = out, .pairs = pl_pairs_new()};
    uint32_t *line = pl_grow_zeroed(flat->depth_max + 1ull, sizeof *line);
    out->end_of_stack = pl_grow_zeroed(flat->stacks + 1ull, sizeof *out->end_of_stack);
    append(&builder, 0, PL_FLAT_NONE);
    for (uint32_t i = 0; i < flat->rows; i++)
        add_row(&builder, &flat->row[i], line);
    add_up(out);
    free(line);
    pl_pairs_free(&builder.pairs);
}

void pl_calltree_free(struct pl_calltree *tree)
{
    free(tree->end_of_stack);
    free(tree->node);
    *tree = (struct pl_calltree){0};
}

/* --- errors --- */

struct sums {
    struct pl_errors self, total, rest;
};

/* Adds a site to the wanted nodes from where it ends to the root; `number` is that of a wanted node, plus one. */
static void add_site(const struct pl_calltree *tree, uint32_t site, const uint32_t *number, struct sums *sums)
{
    uint32_t end = pl_errors_end(tree, site), at = end;
    bool passed_by = false; /* a node that is not wanted */
    for (;; at = tree->node[at].parent) {
        struct sums *sum = number[at] ? &sums[number[at] - 1] : NULL;
        if (sum && at == end)
            pl_errors_add(&sum->self, tree->flat->profile, site);
        if (sum && passed_by)
            pl_errors_add(&sum->rest, tree->flat->profile, site);
        if (sum)
            pl_errors_add(&sum->total, tree->flat->profile, site);
        passed_by = !sum;
        if (!at)
            return;
    }
}

void pl_calltree_estimate(struct pl_calltree *tree, const bool *wanted)
{
    const struct pl_profile *profile = tree->flat->profile;
    uint32_t *number = pl_grow_zeroed(tree->nodes, sizeof *number), count = 0;
    for (uint32_t i = 0; i < tree->nodes && !profile->exact; i++)
        number[i] = wanted[i] ? ++count : 0;
    struct sums *sums = pl_grow_zeroed(count + 1ull, sizeof *sums);
    for (uint32_t i = 0; i < profile->sites && count; i++)
        add_site(tree, i, number, sums);
    for (uint32_t i = 0; i < tree->nodes; i++) {
        if (!number[i])
            continue;
        const struct sums *sum = &sums[number[i] - 1];
        tree->node[i].self.error = pl_errors_of(&sum->self, tree->metric);
        tree->node[i].total.error = pl_errors_of(&sum->total, tree->metric);
        tree->node[i].rest_error = pl_errors_of(&sum->rest, tree->metric);
    }
    free(sums);
    free(number);
}
