/* SPDX-License-Identifier: MIT */
/*
 * calltree.c - the stacks of a flat as a tree of functions, and the texts of pictures of it.
 */
#include "export/pictures/calltree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "analysis/names/shorten.h"
#include "export/label.h"
#include "export/pairs.h"
#include "reader/base/arena.h"
#include "reader/base/grow.h"
#include "reader/describe.h"
#include "reader/site.h"

#define NAME_COLUMNS_MAX 8192 /* in a tooltip: hundreds of them may be in one picture */

/* --- the tree --- */

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
    pl_calltree_add(&tree->node[at].self, &weight);
    tree->end_of_stack[row->stack] = at;
}

static void add_up(struct pl_calltree *tree)
{
    for (uint32_t i = tree->nodes; i-- > 0;) {
        struct pl_calltree_node *node = &tree->node[i];
        pl_calltree_add(&node->total, &node->self);
        if (i)
            pl_calltree_add(&tree->node[node->parent].total, &node->total);
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

uint32_t pl_calltree_end(const struct pl_calltree *tree, uint32_t site)
{
    uint32_t row = tree->flat->row_of_site[site];
    return row < tree->flat->rows ? tree->end_of_stack[tree->flat->row[row].stack] : 0;
}

void pl_calltree_add_errors(struct pl_calltree_errors *errors, const struct pl_profile *profile, uint32_t site)
{
    bool base = profile->difference && site < profile->base_sites;
    pl_site_add_figures(base ? &errors->before : &errors->now, &profile->site[site]);
}

/* Two runs are independent of each other. */
float pl_calltree_error(const struct pl_calltree_errors *errors, enum pl_metric metric)
{
    struct pl_estimate now[PL_METRIC_COUNT], before[PL_METRIC_COUNT];
    pl_estimate_figures(&errors->now, now);
    pl_estimate_figures(&errors->before, before);
    return (float) hypot(now[metric].error, before[metric].error);
}

struct sums {
    struct pl_calltree_errors self, total, rest;
};

/* Adds a site to the wanted nodes from where its stack ends to the root; number[node] is that of a wanted node, plus
 * one. */
static void add_site(const struct pl_calltree *tree, uint32_t site, const uint32_t *number, struct sums *sums)
{
    uint32_t end = pl_calltree_end(tree, site), at = end;
    bool passed_by = false; /* the last node was not wanted */
    for (;; at = tree->node[at].parent) {
        struct sums *sum = number[at] ? &sums[number[at] - 1] : NULL;
        if (sum && at == end)
            pl_calltree_add_errors(&sum->self, tree->flat->profile, site);
        if (sum && passed_by)
            pl_calltree_add_errors(&sum->rest, tree->flat->profile, site);
        if (sum)
            pl_calltree_add_errors(&sum->total, tree->flat->profile, site);
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
        tree->node[i].self.error = pl_calltree_error(&sum->self, tree->metric);
        tree->node[i].total.error = pl_calltree_error(&sum->total, tree->metric);
        tree->node[i].rest_error = pl_calltree_error(&sum->rest, tree->metric);
    }
    free(sums);
    free(number);
}

/* --- names --- */

char *pl_calltree_name(const struct pl_flat_function *function)
{
    struct pl_arena *arena = pl_arena_new();
    bool code = function->kind == PL_FLAT_CODE;
    char *clean = pl_label_clean(code ? pl_shorten_function(arena, function->name) : function->name);
    pl_arena_free(arena);
    return clean;
}

const char *pl_calltree_brief(const char *name)
{
    const char *brief = name;
    int inside = 0; /* of brackets */
    for (const char *at = name; *at; at++) {
        inside += strchr("<({[", *at) ? 1 : strchr(">)}]", *at) ? -1 : 0;
        if (inside == 0 && at[0] == ':' && at[1] == ':' && at[2])
            brief = at + 2;
    }
    return brief;
}

/* --- figures --- */

static const char *sign_of(int64_t change)
{
    return change > 0 ? "+" : change < 0 ? "−" : "±";
}

char *pl_calltree_figure(const struct pl_calltree *tree, const struct pl_weight *weight)
{
    char figure[PL_FIGURE_BYTES];
    bool difference = tree->flat->profile->difference;
    pl_figure_metric(figure, tree->metric, fabs((double) weight->value));
    return pl_label_print("%s%s", difference ? sign_of(weight->value) : "", figure);
}

static char *print_change(const struct pl_calltree *tree, const struct pl_weight *weight, const char *figure)
{
    char before[PL_FIGURE_BYTES], after[PL_FIGURE_BYTES];
    pl_figure_metric(before, tree->metric, (double) weight->before);
    pl_figure_metric(after, tree->metric, (double) (weight->before + weight->value));
    return pl_label_print("%s (%s → %s)", figure, before, after);
}

static char *print_share(const struct pl_calltree *tree, const struct pl_weight *weight, const char *figure)
{
    double whole = (double) tree->node[0].total.value;
    return pl_label_print("%s (%.1f%%)", figure, whole > 0 ? (double) weight->value / whole * 100 : 0);
}

char *pl_calltree_weight(const struct pl_calltree *tree, const struct pl_weight *weight)
{
    bool difference = tree->flat->profile->difference;
    struct pl_estimate estimate = {.value = fabs((double) weight->value), .error = (double) weight->error};
    char error[PL_FIGURE_BYTES];
    pl_figure_error(error, tree->metric, &estimate);
    char *value = pl_calltree_figure(tree, weight);
    char *figure = pl_label_print("%s%s%s", value, *error ? " " : "", error);
    char *text = (difference ? print_change : print_share)(tree, weight, figure);
    free(figure);
    free(value);
    return text;
}

/* Every digit, with the sign of a change. */
static char *print_exact(const struct pl_calltree *tree, const struct pl_weight *weight)
{
    char figure[PL_FIGURE_BYTES];
    bool difference = tree->flat->profile->difference;
    pl_figure_exact(figure, (uint64_t) llabs(weight->value));
    return pl_label_print("%s%s", difference || weight->value < 0 ? sign_of(weight->value) : "", figure);
}

char *pl_calltree_both(const struct pl_calltree *tree, const struct pl_weight *self, const struct pl_weight *total)
{
    const struct pl_metric_info *metric = pl_describe_metric(tree->flat->profile, tree->metric);
    char *own = pl_calltree_weight(tree, self), *of_all = pl_calltree_weight(tree, total);
    char *exact_own = print_exact(tree, self), *exact_of_all = print_exact(tree, total);
    char *text = pl_label_print("%s: total %s, self %s\n%s: total %s, self %s", metric->word, of_all, own, metric->unit,
                                exact_of_all, exact_own);
    free(exact_of_all);
    free(exact_own);
    free(of_all);
    free(own);
    return text;
}

/* --- tooltips --- */

static const char *const kinds[] = {
    [PL_FLAT_CODE] = "",
    [PL_FLAT_TAG] = "\na tag",
    [PL_FLAT_THREAD] = "\nthreads of this name",
    [PL_FLAT_OTHER] = "",
};

/* "\nsrc/index.c · /usr/bin/indexer", as far as it is known. */
static char *print_where(const struct pl_profile *profile, const struct pl_flat_function *function)
{
    const char *module = function->module == PL_FLAT_NONE ? "" : profile->module[function->module].path;
    if (!*function->file && !*module)
        return pl_label_print("%s", kinds[function->kind]);
    char *text = pl_label_print("%s%s%s", function->file, *function->file && *module ? " · " : "", module);
    char *clean = pl_label_clean(text), *line = pl_label_print("\n%s", clean);
    free(clean);
    free(text);
    return line;
}

char *pl_calltree_tooltip(const struct pl_calltree *tree, const struct pl_flat_function *function,
                          const struct pl_weight *self, const struct pl_weight *total)
{
    char *clean = pl_label_clean(function->name), *name = pl_label_cut(clean, NAME_COLUMNS_MAX);
    char *where = print_where(tree->flat->profile, function);
    char *both = pl_calltree_both(tree, self, total);
    char *text = pl_label_print("%s%s\n%s", name, where, both);
    free(both);
    free(where);
    free(name);
    free(clean);
    return text;
}
