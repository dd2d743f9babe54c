/* SPDX-License-Identifier: MIT */
/*
 * tags_label.c - what pictures of the tree of tags say.
 */
#include "tags_label.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "grow.h"
#include "label.h"
#include "metric.h"
#include "tagfigures.h"

#define PATH_BYTES_MAX 8192 /* of a path in a tooltip: deep ones of long names would make the picture huge */

char *pl_tags_label_name(const struct pl_shown_node *node)
{
    char *clean = pl_label_clean(node->name);
    char *text = node->nested ? pl_label_print("%s ×%" PRIu32, clean, node->nested) : pl_label_print("%s", clean);
    free(clean);
    return text;
}

/* --- figures --- */

static char *print_estimate(enum pl_metric metric, const struct pl_estimate *estimate)
{
    char text[2 * PL_FIGURE_BYTES];
    pl_figure_estimate(text, metric, estimate);
    return pl_label_print("%s", text);
}

static char *figure_of(enum pl_metric metric, const struct pl_tag_figures *figures)
{
    return print_estimate(metric, &figures->metric[metric]);
}

static void print_count(FILE *out, uint64_t count)
{
    double value = (double) count;
    struct pl_estimate exact = {.value = value, .low = value, .high = value};
    char text[2 * PL_FIGURE_BYTES];
    pl_figure_estimate(text, PL_METRIC_ALLOC_OBJECTS, &exact);
    fputs(text, out);
}

char *pl_tags_label_weight(const struct pl_export_options *options, const struct pl_tag_figures *figures)
{
    double whole = pl_shown_whole(options), value = figures->metric[options->metric].value;
    char *figure = figure_of(options->metric, figures);
    char *text = pl_label_print("%s (%.1f%%)", figure, whole > 0 ? value / whole * 100 : 0);
    free(figure);
    return text;
}

char *pl_tags_label_beside(const struct pl_export_options *options, const struct pl_tag_figures *figures)
{
    bool calls = options->metric == PL_METRIC_ALLOC_OBJECTS;
    char *figure = figure_of(calls ? PL_METRIC_ALLOC_SPACE : PL_METRIC_ALLOC_OBJECTS, figures);
    char *text = pl_label_print("%s%s", figure, calls ? "" : figures->all_calls == 1 ? " call" : " calls");
    free(figure);
    return text;
}

char *pl_tags_label_threads(const struct pl_tag_tree *tree)
{
    char *name = pl_label_clean(*tree->name ? tree->name : "?");
    char *text = pl_label_print("%s (%" PRIu32 " thread%s)", name, tree->threads, tree->threads == 1 ? "" : "s");
    free(name);
    return text;
}

/* --- tooltips --- */

static void print_name(FILE *out, const struct pl_profile *profile, const struct pl_shown_node *node)
{
    const char *path = node->tag == PL_SHOWN_NONE ? "" : profile->tag[node->tag].path;
    bool whole = *path && strlen(path) <= PATH_BYTES_MAX;
    char *name = pl_label_clean(whole ? path : node->name);
    fprintf(out, "%s%s\n", name, node->tag == PL_SHOWN_NONE ? ", each too small to show" : "");
    free(name);
}

static void print_functions(FILE *out, const char *whose, const struct pl_tag_figures *figures)
{
    const char *before = "";
    if (!figures->all_calls)
        return;
    fprintf(out, "\n%s: ", whose);
    for (int i = 0; i < PL_FN_COUNT; i++) {
        if (!figures->calls[i])
            continue;
        fprintf(out, "%s%s ", before, pl_function_name[i]);
        print_count(out, figures->calls[i]);
        before = ", ";
    }
}

/* `metric` says how to write it. */
static void print_both(FILE *out, const char *word, enum pl_metric metric, const struct pl_estimate *total,
                       const struct pl_estimate *self)
{
    char *of_all = print_estimate(metric, total), *own = print_estimate(metric, self);
    fprintf(out, "\n%s: total %s, self %s", word, of_all, own);
    free(own);
    free(of_all);
}

static void print_freed(FILE *out, const struct pl_shown_node *node)
{
    struct pl_tag_freed total = pl_tagfigures_freed(node->total), self = pl_tagfigures_freed(node->self);
    print_both(out, "frees", PL_METRIC_ALLOC_OBJECTS, &total.objects, &self.objects);
    print_both(out, "freed", PL_METRIC_ALLOC_SPACE, &total.space, &self.space);
}

char *pl_tags_label_tooltip(const struct pl_profile *profile, const struct pl_tag_tree *tree,
                            const struct pl_shown_node *node)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = pl_grow_check(open_memstream(&text, &bytes), 1, 1);
    char *threads = pl_tags_label_threads(tree);
    if (node->parent == PL_SHOWN_NONE)
        fputs("everything; self: what has no tag\n", out);
    else
        print_name(out, profile, node);
    if (node->nested)
        fprintf(out, "inside of itself, %" PRIu32 " deep: recursion, or a plimsoll_pop() is missing\n", node->nested);
    fprintf(out, "%s\nentered: ", threads);
    print_count(out, node->self->entered);
    for (int i = 0; i < PL_METRIC_COUNT; i++)
        print_both(out, pl_metric_of(profile, (enum pl_metric) i)->word, (enum pl_metric) i, &node->total->metric[i],
                   &node->self->metric[i]);
    print_freed(out, node);
    print_functions(out, "calls, total", node->total);
    print_functions(out, "calls, self", node->self);
    fclose(out);
    free(threads);
    return pl_grow_check(text, 1, 1);
}
