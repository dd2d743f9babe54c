/* SPDX-License-Identifier: MIT */
/*
 * svg.c - the call tree as a picture that any browser shows: a flame graph, from the top.
 *
 * A function is below its caller. A box is as wide as its total, so the space that its callees leave free below it is
 * its self; the larger that is, the darker the box.
 *
 * In a difference a box is as wide as the larger of before and after, path by path: what has gone still has its place,
 * in blue, beside what has come, in orange. The colour shows the change of the total, so that one can follow it down.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "export/export.h"
#include "export/label.h"
#include "export/pictures/calltree.h"
#include "export/pictures/picture.h"
#include "export/pictures/shade.h"
#include "reader/base/grow.h"

#define ROW 22.0
#define DEPTH_MAX 1000 /* deeper calls are combined */

struct svg {
    const struct pl_profile *profile;
    const struct pl_export_options *options;
    struct pl_picture picture;
    struct pl_calltree tree;
    double *width;    /* by node, in the metric's unit */
    uint32_t *first;  /* by node: its children are child[first[i]] .. child[first[i + 1] - 1] */
    uint32_t *child;  /* the widest first */
    double least;     /* narrower ones are combined */
    double most_self; /* of any node, without sign; as is the next */
    double most_change;
};

/* --- order --- */

static double width_of(const struct pl_weight *weight)
{
    return fmax(0, fmax((double) weight->before, (double) (weight->before + weight->value)));
}

static void measure(struct svg *svg)
{
    const struct pl_calltree *tree = &svg->tree;
    svg->width = pl_grow_zeroed(tree->nodes, sizeof *svg->width);
    for (uint32_t i = tree->nodes; i-- > 0;) {
        const struct pl_calltree_node *node = &tree->node[i];
        svg->width[i] += width_of(&node->self);
        if (i)
            svg->width[node->parent] += svg->width[i];
        svg->most_self = fmax(svg->most_self, fabs((double) node->self.value));
        svg->most_change = fmax(svg->most_change, fabs((double) node->total.value));
    }
    svg->least = svg->options->threshold * svg->width[0];
}

static int by_width(const void *a, const void *b, void *context)
{
    const uint32_t *first = a, *second = b;
    const double *width = context;
    if (width[*first] != width[*second])
        return width[*first] < width[*second] ? 1 : -1;
    return *first < *second ? -1 : *first > *second;
}

static void sort_children(struct svg *svg)
{
    const struct pl_calltree *tree = &svg->tree;
    uint32_t *next = pl_grow_zeroed(tree->nodes + 1ull, sizeof *next);
    svg->first = pl_grow_zeroed(tree->nodes + 1ull, sizeof *svg->first);
    svg->child = pl_grow_zeroed(tree->nodes, sizeof *svg->child);
    for (uint32_t i = 1; i < tree->nodes; i++)
        svg->first[tree->node[i].parent + 1]++;
    for (uint32_t i = 0; i < tree->nodes; i++)
        next[i + 1] = svg->first[i + 1] += svg->first[i];
    for (uint32_t i = 1; i < tree->nodes; i++)
        svg->child[next[tree->node[i].parent]++] = i;
    for (uint32_t i = 0; i < tree->nodes; i++)
        qsort_r(svg->child + svg->first[i], svg->first[i + 1] - svg->first[i], sizeof *svg->child, by_width,
                svg->width);
    free(next);
}

/* Whether a node has a box of its own. */
static bool shown(const struct svg *svg, uint32_t node)
{
    return svg->width[node] > 0 && svg->width[node] >= svg->least && svg->tree.node[node].depth <= DEPTH_MAX;
}

static void estimate(struct svg *svg)
{
    bool *wanted = pl_grow_zeroed(svg->tree.nodes, sizeof *wanted);
    for (uint32_t i = 0; i < svg->tree.nodes; i++)
        wanted[i] = shown(svg, i);
    pl_calltree_estimate(&svg->tree, wanted);
    free(wanted);
}

/* --- boxes --- */

static double pixels(const struct svg *svg, double width)
{
    return width / svg->width[0] * PL_PICTURE_PLOT;
}

static unsigned shade_of(const struct svg *svg, const struct pl_weight *self, const struct pl_weight *total)
{
    return svg->profile->difference ? pl_shade_of_change((double) total->value, svg->most_change)
                                    : pl_shade_of((double) self->value, svg->most_self);
}

static void put_box(const struct svg *svg, struct pl_box box, const struct pl_weight *self,
                    const struct pl_weight *total)
{
    struct pl_weight sure = {.value = total->value, .before = total->before}; /* without its ± */
    char *weight = pl_calltree_weight(&svg->tree, total), *shorter = pl_calltree_weight(&svg->tree, &sure);
    char *figure = pl_calltree_figure(&svg->tree, total);
    box.shade = shade_of(svg, self, total);
    box.figures[0] = weight;
    box.figures[1] = shorter;
    box.figures[2] = figure;
    pl_picture_box(&svg->picture, &box);
    free(figure);
    free(shorter);
    free(weight);
}

static void put_node(const struct svg *svg, uint32_t index, double x)
{
    const struct pl_calltree_node *node = &svg->tree.node[index];
    const struct pl_flat_function everything = {
        .name = svg->profile->comm, .file = "", .module = PL_FLAT_NONE, .kind = PL_FLAT_OTHER};
    const struct pl_flat_function *function = index ? &svg->tree.flat->function[node->function] : &everything;
    char *name = pl_calltree_name(function);
    char *tooltip = pl_calltree_tooltip(&svg->tree, function, &node->self, &node->total);
    put_box(svg,
            (struct pl_box){.x = x,
                            .width = pixels(svg, svg->width[index]),
                            .row = node->depth,
                            .aside = index && function->kind != PL_FLAT_CODE,
                            .name = name,
                            .brief = pl_calltree_brief(name),
                            .tooltip = tooltip},
            &node->self, &node->total);
    free(tooltip);
    free(name);
}

/* One box for the callees of a caller from child[from] on, each too small. Nothing is shown below it: its total is its
 * self. */
static void put_more(const struct svg *svg, uint32_t caller, uint32_t from, double x)
{
    struct pl_weight sum = {.error = svg->tree.node[caller].rest_error};
    uint32_t to = svg->first[caller + 1], row = svg->tree.node[caller].depth + 1;
    double width = 0;
    for (uint32_t i = from; i < to; i++) {
        pl_calltree_add(&sum, &svg->tree.node[svg->child[i]].total);
        width += svg->width[svg->child[i]];
    }
    char *name = pl_label_print("%" PRIu32 " more", to - from), *both = pl_calltree_both(&svg->tree, &sum, &sum);
    char *tooltip = pl_label_print("%s, each too small to show\n%s", name, both);
    put_box(svg,
            (struct pl_box){
                .x = x, .width = pixels(svg, width), .row = row, .several = true, .name = name, .tooltip = tooltip},
            &sum, &sum);
    free(tooltip);
    free(both);
    free(name);
}

static void put_branch(const struct svg *svg, uint32_t index, double x)
{
    uint32_t i = svg->first[index], end = svg->first[index + 1];
    put_node(svg, index, x);
    for (; i < end && shown(svg, svg->child[i]); i++) {
        put_branch(svg, svg->child[i], x);
        x += pixels(svg, svg->width[svg->child[i]]);
    }
    if (i < end)
        put_more(svg, index, i, x);
}

/* --- the whole --- */

static uint32_t count_rows(const struct svg *svg)
{
    uint32_t rows = 0;
    for (uint32_t i = 0; i < svg->tree.nodes && svg->width[0] > 0; i++) {
        const struct pl_calltree_node *node = &svg->tree.node[i];
        bool seen = !i || shown(svg, node->parent); /* itself, or as one of several */
        if (seen && node->depth >= rows && pixels(svg, svg->width[i]) >= PL_PICTURE_NARROWEST)
            rows = node->depth + 1;
    }
    return rows;
}

static const struct pl_picture_head plain = {
    .note = "Width: total, callees included. The space left free below a function is its self.",
    .legend_less = "self: none",
    .legend_more = "most",
};
static const struct pl_picture_head change = {
    .note = "Width: the larger of before and after. Colour: the change, callees included.",
    .legend_less = "less",
    .legend_more = "more",
};
static const struct pl_picture_head nothing = {
    .note = "This metric has nothing to show. Another one may: --metric allocated",
    .legend_less = "self: none",
    .legend_more = "most",
};

void pl_export_svg(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    struct svg svg = {.profile = profile, .options = options, .picture = {.out = out, .row = ROW}};
    pl_calltree_make(options->flat, options->metric, &svg.tree);
    measure(&svg);
    sort_children(&svg);
    estimate(&svg);
    bool empty = svg.width[0] <= 0;
    pl_picture_open(&svg.picture, profile, options,
                    empty                 ? &nothing
                    : profile->difference ? &change
                                          : &plain,
                    count_rows(&svg));
    if (!empty)
        put_branch(&svg, 0, PL_PICTURE_MARGIN);
    pl_picture_close(&svg.picture);
    free(svg.child);
    free(svg.first);
    free(svg.width);
    pl_calltree_free(&svg.tree);
}
