/* SPDX-License-Identifier: MIT */
/*
 * tags_dot.c - the tree of tags for Graphviz: `dot -Tsvg` draws it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "export/export.h"
#include "export/label.h"
#include "export/pictures/graphviz.h"
#include "export/pictures/shade.h"
#include "export/pictures/shown.h"

#define NAME_COLUMNS 40

struct dot {
    FILE *out;
    const struct pl_profile *profile;
    const struct pl_export_options *options;
    double whole, heaviest;
};

/* --- nodes --- */

static void put_figures(const struct dot *dot, const char *word, const struct pl_tag_figures *figures)
{
    char *weight = pl_shown_weight(dot->options, figures), *beside = pl_shown_beside(dot->options, figures);
    fprintf(dot->out, "\\n%s ", word);
    pl_graphviz_label(dot->out, weight);
    fputs(" · ", dot->out);
    pl_graphviz_label(dot->out, beside);
    free(weight);
    free(beside);
}

static void put_node(const struct dot *dot, uint32_t tree, const struct pl_shown *shown, uint32_t index)
{
    const struct pl_shown_node *node = &shown->node[index];
    const struct pl_tag_tree *of = &dot->options->forest->tree[tree];
    double self = node->self->metric[dot->options->metric].value;
    const struct pl_shade *shade = &pl_shade_light[pl_shade_of(self, dot->heaviest)];
    char *clean = pl_shown_name(node), *name = pl_label_cut(clean, NAME_COLUMNS);
    char *tooltip = pl_shown_tooltip(dot->profile, of, node);
    fprintf(dot->out, "        t%un%u [label=\"", tree, index);
    pl_graphviz_label(dot->out, name);
    put_figures(dot, "total", node->total);
    put_figures(dot, "self", node->self);
    fprintf(dot->out, "\", fillcolor=\"%s\", fontcolor=\"%s\", ", shade->fill, shade->text);
    if (node->tag == PL_SHOWN_NONE)
        fputs("style=\"filled,dashed\", ", dot->out);
    pl_graphviz_tooltip(dot->out, tooltip);
    fputs("];\n", dot->out);
    free(tooltip);
    free(name);
    free(clean);
}

static void put_edge(const struct dot *dot, uint32_t tree, const struct pl_shown *shown, uint32_t index)
{
    const struct pl_shown_node *node = &shown->node[index];
    const struct pl_estimate *total = &node->total->metric[dot->options->metric];
    char figure[2 * PL_FIGURE_BYTES];
    pl_figure_estimate(figure, dot->options->metric, total);
    fprintf(dot->out, "        t%un%u -> t%un%u [label=\"", tree, node->parent, tree, index);
    pl_graphviz_label(dot->out, figure);
    fprintf(dot->out, "\", penwidth=%.2f];\n", 0.5 + (dot->whole > 0 ? 4 * total->value / dot->whole : 0));
}

static void put_tree(const struct dot *dot, uint32_t index)
{
    const struct pl_tag_tree *tree = &dot->options->forest->tree[index];
    struct pl_shown shown;
    char *threads = pl_shown_threads(tree), *label = pl_label_cut(threads, NAME_COLUMNS);
    pl_shown_make(dot->profile, dot->options, PL_SHOWN_PICTURE, tree, &shown);
    fprintf(dot->out, "    subgraph cluster_%u {\n        label=\"", index);
    pl_graphviz_label(dot->out, label);
    fputs("\";\n        ", dot->out);
    pl_graphviz_tooltip(dot->out, threads);
    fputs(";\n", dot->out);
    for (uint32_t i = 0; i < shown.nodes; i++)
        put_node(dot, index, &shown, i);
    for (uint32_t i = 1; i < shown.nodes; i++)
        put_edge(dot, index, &shown, i);
    fputs("    }\n", dot->out);
    pl_shown_free(&shown);
    free(label);
    free(threads);
}

/* Trees that are too small for a cluster. */
static void put_rest(const struct dot *dot, uint32_t shown)
{
    uint32_t trees = dot->options->forest->trees - shown;
    struct pl_tag_figures sum;
    if (!trees)
        return;
    pl_shown_sum(dot->options, shown, &sum);
    fprintf(dot->out, "    more [label=\"%" PRIu32 " more group%s of threads", trees, trees == 1 ? "" : "s");
    put_figures(dot, "total", &sum);
    fputs("\", style=\"filled,dashed\"];\n", dot->out);
}

/* --- the whole --- */

void pl_export_tags_dot(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    struct dot dot = {.out = out,
                      .profile = profile,
                      .options = options,
                      .whole = pl_shown_whole(options),
                      .heaviest = pl_shown_heaviest(options)};
    uint32_t trees = pl_shown_trees(options);
    pl_graphviz_open(out, "tags", "rankdir=LR", profile, options, NULL);
    for (uint32_t i = 0; i < trees; i++)
        put_tree(&dot, i);
    put_rest(&dot, trees);
    fputs("}\n", out);
}
