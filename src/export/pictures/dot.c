/* SPDX-License-Identifier: MIT */
/*
 * dot.c - the call graph for Graphviz: `dot -Tsvg` draws it.
 *
 * The more a function allocates itself, the larger and darker it is; the more goes through a call, the thicker its
 * arrow. In a difference the colour shows the change, callees included: orange leads to what grew.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/figure.h"
#include "export/export.h"
#include "export/label.h"
#include "export/pictures/callgraph.h"
#include "export/pictures/calltree.h"
#include "export/pictures/graphviz.h"
#include "export/pictures/shade.h"

#define NAME_COLUMNS 48
#define NODES_MAX 100 /* more would be unreadable */
#define FONT_SMALLEST 9.0
#define FONT_LARGEST 22.0
#define PEN_LARGEST 5.0

struct dot {
    FILE *out;
    const struct pl_calltree *tree;
    const struct pl_callgraph *graph;
    bool difference;
    double most_self, most_change; /* of any node, without sign */
};

static double size_of(const struct pl_weight *weight)
{
    return fabs((double) weight->value);
}

/* --- nodes --- */

static const struct pl_shade *shade_of(const struct dot *dot, const struct pl_callgraph_node *node)
{
    if (dot->difference)
        return &pl_shade_change_light[pl_shade_of_change((double) node->total.value, dot->most_change)];
    return &pl_shade_light[pl_shade_of((double) node->self.value, dot->most_self)];
}

static void put_figure(const struct dot *dot, const char *word, const struct pl_weight *weight)
{
    char *text = pl_calltree_weight(dot->tree, weight);
    fprintf(dot->out, "\\n%s ", word);
    pl_graphviz_label(dot->out, text);
    free(text);
}

static void put_node(const struct dot *dot, uint32_t index)
{
    const struct pl_callgraph_node *node = &dot->graph->node[index];
    const struct pl_flat_function *function = &dot->tree->flat->function[node->function];
    const struct pl_shade *shade = shade_of(dot, node);
    double part = dot->most_self > 0 ? sqrt(size_of(&node->self) / dot->most_self) : 0;
    char *clean = pl_calltree_name(function), *name = pl_label_cut(clean, NAME_COLUMNS);
    char *tooltip = pl_calltree_tooltip(dot->tree, function, &node->self, &node->total);
    fprintf(dot->out, "    n%u [label=\"", index);
    pl_graphviz_label(dot->out, name);
    put_figure(dot, "total", &node->total);
    if (node->self.value || node->self.before)
        put_figure(dot, "self", &node->self);
    fprintf(dot->out, "\", fontsize=%.1f, fillcolor=\"%s\", fontcolor=\"%s\", style=\"%s\", ",
            FONT_SMALLEST + part * (FONT_LARGEST - FONT_SMALLEST), shade->fill, shade->text,
            function->kind == PL_FLAT_CODE ? "filled" : "filled,rounded");
    pl_graphviz_tooltip(dot->out, tooltip);
    fputs("];\n", dot->out);
    free(tooltip);
    free(name);
    free(clean);
}

/* --- edges --- */

/* Lines need more contrast than areas: changes have the darkest shades. */
static const char *colour_of(const struct dot *dot, const struct pl_callgraph_edge *edge)
{
    if (!dot->difference || !edge->weight.value)
        return "#5b6b7d";
    return edge->weight.value < 0 ? "#3872b0" : "#c46a12";
}

static void put_edge(const struct dot *dot, const struct pl_callgraph_edge *edge)
{
    double part = dot->graph->moved ? (double) edge->moved / (double) dot->graph->moved : 0;
    char *figure = pl_calltree_figure(dot->tree, &edge->weight);
    fprintf(dot->out, "    n%u -> n%u [label=\"", edge->from, edge->to);
    pl_graphviz_label(dot->out, figure);
    fprintf(dot->out, "\", penwidth=%.2f, weight=%.0f, color=\"%s\"%s, ", 0.5 + part * (PEN_LARGEST - 0.5),
            1 + 99 * part, colour_of(dot, edge), edge->indirect ? ", style=\"dashed\"" : "");
    pl_graphviz_tooltip(dot->out, edge->indirect ? "through functions that are not shown" : "calls");
    fputs("];\n", dot->out);
    free(figure);
}

/* --- the whole --- */

static char *print_note(const struct dot *dot, const struct pl_export_options *options)
{
    const struct pl_callgraph *graph = dot->graph;
    const struct pl_weight *total = &dot->tree->node[0].total;
    char functions[PL_FIGURE_BYTES];
    pl_figure_exact(functions, graph->functions);
    if (!graph->nodes)
        return pl_label_print("This metric has nothing to show. Another one may: --metric allocated");
    char *whole = (dot->difference ? pl_calltree_weight : pl_calltree_figure)(dot->tree, total);
    char *note = graph->nodes == graph->functions
                     ? pl_label_print("%s in %s functions", whole, functions)
                     : pl_label_print("%s in %s functions; %u are shown.\nThe others have less than %g%%, or only pass "
                                      "calls on. Dashed: calls through those.",
                                      whole, functions, graph->nodes, options->threshold * 100);
    free(whole);
    return note;
}

static void find_extremes(struct dot *dot)
{
    for (uint32_t i = 0; i < dot->graph->nodes; i++) {
        dot->most_self = fmax(dot->most_self, size_of(&dot->graph->node[i].self));
        dot->most_change = fmax(dot->most_change, size_of(&dot->graph->node[i].total));
    }
}

void pl_export_dot(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    struct pl_calltree tree;
    struct pl_callgraph graph;
    struct pl_callgraph_bounds bounds = {.threshold = options->threshold, .nodes = NODES_MAX};
    struct dot dot = {.out = out, .tree = &tree, .graph = &graph, .difference = profile->difference};
    pl_calltree_make(options->flat, options->metric, &tree);
    pl_callgraph_make(&tree, &bounds, &graph);
    pl_callgraph_estimate(&graph, &tree);
    find_extremes(&dot);
    char *note = print_note(&dot, options);
    pl_graphviz_open(out, "calls", "rankdir=TB; nodesep=0.25; ranksep=0.4", profile, options, note);
    for (uint32_t i = 0; i < graph.nodes; i++)
        put_node(&dot, i);
    for (uint32_t i = 0; i < graph.edges; i++)
        put_edge(&dot, &graph.edge[i]);
    fputs("}\n", out);
    free(note);
    pl_callgraph_free(&graph);
    pl_calltree_free(&tree);
}
