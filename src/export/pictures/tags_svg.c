/* SPDX-License-Identifier: MIT */
/*
 * tags_svg.c - the tree of tags as a picture that any browser shows: no script, nothing to install.
 *
 * An icicle: a tag is below the one it was entered from. A rectangle is as wide as its total, so the space that its
 * children leave free below it is its self; the larger that is, the darker the rectangle. Several groups of threads are
 * side by side, at one scale, below their sum.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "export/export.h"
#include "export/label.h"
#include "export/pictures/picture.h"
#include "export/pictures/shade.h"
#include "export/pictures/shown.h"
#include "reader/base/grow.h"
#include "reader/describe.h"

struct svg {
    const struct pl_profile *profile;
    const struct pl_export_options *options;
    struct pl_picture picture;
    double whole, heaviest;
    uint32_t trees; /* that are shown */
    struct pl_shown *shown;
};

/* --- boxes --- */

/* "12.4 MiB (48.0%) · self 3.0 MiB (11.6%)", "12.4 MiB (48.0%)" and "12.4 MiB", as there is room. */
static void put_box(const struct svg *svg, struct pl_box box, const struct pl_tag_figures *self,
                    const struct pl_tag_figures *total)
{
    enum pl_metric metric = svg->options->metric;
    char bare[2 * PL_FIGURE_BYTES];
    char *of_all = pl_shown_weight(svg->options, total), *own = pl_shown_weight(svg->options, self);
    bool leaf = !strcmp(of_all, own);
    char *both = pl_label_print("%s%s%s", of_all, leaf ? "" : " · self ", leaf ? "" : own);
    pl_figure_estimate(bare, metric, &total->metric[metric]);
    box.shade = pl_shade_of(self->metric[metric].value, svg->heaviest);
    box.figures[0] = both;
    box.figures[1] = of_all;
    box.figures[2] = bare;
    pl_picture_box(&svg->picture, &box);
    free(both);
    free(own);
    free(of_all);
}

static double width_of(const struct svg *svg, const struct pl_tag_figures *total)
{
    return total->metric[svg->options->metric].value / svg->whole * PL_PICTURE_PLOT;
}

/* Places the nodes of a tree, parents first: each child begins where the one before it ended. */
static struct pl_box *place(const struct svg *svg, const struct pl_shown *shown, double x, uint32_t row)
{
    struct pl_box *box = pl_grow_zeroed(shown->nodes, sizeof *box);
    double *next = pl_grow_zeroed(shown->nodes, sizeof *next);
    for (uint32_t i = 0; i < shown->nodes; i++) {
        const struct pl_shown_node *node = &shown->node[i];
        next[i] = i ? next[node->parent] : x;
        box[i] = (struct pl_box){.x = next[i],
                                 .width = width_of(svg, node->total),
                                 .row = row + node->depth,
                                 .several = node->tag == PL_SHOWN_NONE};
        if (i)
            next[node->parent] += box[i].width;
    }
    free(next);
    return box;
}

static void put_tree(const struct svg *svg, uint32_t index, double x, uint32_t row)
{
    const struct pl_tag_tree *tree = &svg->options->forest->tree[index];
    const struct pl_shown *shown = &svg->shown[index];
    struct pl_box *box = place(svg, shown, x, row);
    for (uint32_t i = 0; i < shown->nodes; i++) {
        const struct pl_shown_node *node = &shown->node[i];
        char *tooltip = pl_shown_tooltip(svg->profile, tree, node);
        char *name = i ? pl_shown_name(node) : pl_shown_threads(tree);
        box[i].name = name;
        box[i].tooltip = tooltip;
        put_box(svg, box[i], node->self, node->total);
        free(name);
        free(tooltip);
    }
    free(box);
}

/* One box for the groups of threads from `first` on: those that are too small, or all of them. The latter has no
 * self. */
static void put_groups(const struct svg *svg, struct pl_box box, uint32_t first, const char *what)
{
    static const struct pl_tag_figures none;
    struct pl_tag_figures sum;
    pl_shown_sum(svg->options, first, &sum);
    char *weight = pl_shown_weight(svg->options, &sum), *beside = pl_shown_beside(svg->options, &sum);
    char *name = pl_label_print("%" PRIu32 " %s", svg->options->forest->trees - first, what);
    const char *word = pl_describe_metric(svg->profile, svg->options->metric)->word;
    char *tooltip = pl_label_print("%s\n%s: %s, %s", name, word, weight, beside);
    box.width = width_of(svg, &sum);
    box.several = first > 0;
    box.name = name;
    box.tooltip = tooltip;
    put_box(svg, box, first ? &sum : &none, &sum);
    free(tooltip);
    free(name);
    free(beside);
    free(weight);
}

/* --- the whole --- */

/* Rows that have something wide enough in them. */
static uint32_t count_rows(const struct svg *svg)
{
    uint32_t rows = 0;
    for (uint32_t t = 0; t < svg->trees && svg->whole > 0; t++)
        for (uint32_t i = 0; i < svg->shown[t].nodes; i++) {
            const struct pl_shown_node *node = &svg->shown[t].node[i];
            if (node->depth >= rows && width_of(svg, node->total) >= PL_PICTURE_NARROWEST)
                rows = node->depth + 1;
        }
    return rows + (svg->options->forest->trees > 1);
}

static void put_trees(const struct svg *svg)
{
    const struct pl_tag_forest *forest = svg->options->forest;
    bool several = forest->trees > 1;
    double x = PL_PICTURE_MARGIN;
    if (several)
        put_groups(svg, (struct pl_box){.x = x}, 0, "groups of threads");
    for (uint32_t i = 0; i < svg->trees; i++) {
        put_tree(svg, i, x, several);
        x += width_of(svg, &forest->tree[i].node[0].total);
    }
    if (svg->trees < forest->trees)
        put_groups(svg, (struct pl_box){.x = x, .row = 1}, svg->trees, "more groups of threads");
}

static void put_picture(const struct svg *svg)
{
    struct pl_picture_head head = {
        .note = svg->whole > 0 ? "Width: total, tags below included. The space left free below a tag is its self."
                               : "This metric has nothing to show. Another one may: --metric allocated",
        .legend_less = "self: none",
        .legend_more = "most",
    };
    pl_picture_open(&svg->picture, svg->profile, svg->options, &head, count_rows(svg));
    if (svg->whole > 0)
        put_trees(svg);
    pl_picture_close(&svg->picture);
}

void pl_export_tags_svg(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    struct svg svg = {.profile = profile,
                      .options = options,
                      .picture = {.out = out, .row = 36},
                      .whole = pl_shown_whole(options),
                      .heaviest = pl_shown_heaviest(options),
                      .trees = pl_shown_trees(options)};
    svg.shown = pl_grow_zeroed(svg.trees + 1ull, sizeof *svg.shown);
    for (uint32_t i = 0; i < svg.trees; i++)
        pl_shown_make(profile, options, PL_SHOWN_PICTURE, &options->forest->tree[i], &svg.shown[i]);
    put_picture(&svg);
    for (uint32_t i = 0; i < svg.trees; i++)
        pl_shown_free(&svg.shown[i]);
    free(svg.shown);
}
