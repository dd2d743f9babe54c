/* SPDX-License-Identifier: MIT */
/*
 * shown.c - which tags of a tree are shown, and the texts of pictures of them.
 *
 * A tree's nodes come with the heaviest child first. So once a child is too small, all that follow are, and one pass
 * suffices: the first of them becomes "N more", and includes the others.
 */
#include "export/pictures/shown.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "analysis/tags/tagfigures.h"
#include "export/label.h"
#include "reader/base/arena.h"
#include "reader/base/grow.h"
#include "reader/describe.h"

#define PATH_BYTES_MAX 8192 /* of a path in a tooltip: deep ones of long names would make the picture huge */

/* --- figures --- */

/* Until all are added, metric[].high is the most that may have gone unseen in one of them. Without samples, nothing
 * more is known. */
static void add_figures(struct pl_tag_figures *to, const struct pl_tag_figures *more)
{
    for (int i = 0; i < PL_METRIC_COUNT; i++)
        to->metric[i].high = fmax(to->metric[i].high, more->metric[i].high - more->metric[i].value);
    pl_tagfigures_add(to, more);
}

static void widen(struct pl_estimate *estimate, double unseen)
{
    if (estimate->high >= estimate->value + unseen)
        return;
    estimate->high = estimate->value + unseen;
    estimate->error = estimate->value > 0 ? (estimate->high - estimate->low) / 2 : estimate->high;
}

static void estimate(struct pl_tag_figures *figures)
{
    double unseen[PL_METRIC_COUNT];
    for (int i = 0; i < PL_METRIC_COUNT; i++)
        unseen[i] = figures->metric[i].high;
    pl_estimate_figures(&figures->figures, figures->metric);
    for (int i = 0; i < PL_METRIC_COUNT && figures->figures.allocated.sampled.samples == 0; i++)
        widen(&figures->metric[i], unseen[i]);
    pl_tagfigures_bound(figures->metric, (double) figures->all_calls, (double) figures->bytes);
}

/* --- the forest --- */

static double total_of(const struct pl_export_options *options, uint32_t tree)
{
    return options->forest->tree[tree].node[0].total.metric[options->metric].value;
}

double pl_shown_whole(const struct pl_export_options *options)
{
    double whole = 0;
    for (uint32_t i = 0; i < options->forest->trees; i++)
        whole += total_of(options, i);
    return whole;
}

double pl_shown_heaviest(const struct pl_export_options *options)
{
    double heaviest = 0;
    for (uint32_t t = 0; t < options->forest->trees; t++) {
        const struct pl_tag_tree *tree = &options->forest->tree[t];
        for (uint32_t i = 0; i < tree->nodes; i++)
            heaviest = fmax(heaviest, tree->node[i].self.metric[options->metric].value);
    }
    return heaviest;
}

static double least(const struct pl_export_options *options)
{
    return options->threshold * pl_shown_whole(options);
}

uint32_t pl_shown_trees(const struct pl_export_options *options)
{
    uint32_t shown = 0;
    double enough = least(options);
    while (shown < options->forest->trees && (!shown || total_of(options, shown) >= enough))
        shown++;
    return shown;
}

void pl_shown_sum(const struct pl_export_options *options, uint32_t first, struct pl_tag_figures *out)
{
    memset(out, 0, sizeof *out);
    for (uint32_t i = first; i < options->forest->trees; i++)
        add_figures(out, &options->forest->tree[i].node[0].total);
    estimate(out);
}

/* --- a tree --- */

/* The children of a shown node that are too small. */
struct more {
    uint32_t at; /* index of shown node */
    struct pl_tag_figures *sum;
};

struct fold {
    const struct pl_profile *profile;
    const struct pl_tag_tree *tree;
    struct pl_shown *shown;
    struct more *more; /* by index of shown node; .sum is NULL where none is too small */
};

static uint32_t append(struct fold *fold, const struct pl_shown_node *node)
{
    fold->shown->node[fold->shown->nodes] = *node;
    return fold->shown->nodes++;
}

static uint32_t append_tag(struct fold *fold, const struct pl_tag_node *node, uint32_t parent)
{
    const char *name = parent == PL_SHOWN_NONE ? fold->tree->name : fold->profile->tag[node->tag].name;
    return append(fold, &(struct pl_shown_node){.tag = node->tag,
                                                .parent = parent,
                                                .depth = node->depth,
                                                .tags = 1,
                                                .nested = node->nested,
                                                .name = name,
                                                .self = &node->self,
                                                .total = &node->total});
}

/* The total of "N more" is its self: nothing is shown below it. */
static void take_in(struct fold *fold, const struct pl_tag_node *node, uint32_t parent)
{
    struct more *more = &fold->more[parent];
    if (!more->sum) {
        more->sum = pl_arena_alloc(fold->shown->arena, sizeof *more->sum);
        more->at = append(
            fold,
            &(struct pl_shown_node){
                .tag = PL_SHOWN_NONE, .parent = parent, .depth = node->depth, .self = more->sum, .total = more->sum});
    }
    fold->shown->node[more->at].tags += node->below + 1;
    add_figures(more->sum, &node->total);
}

static void name_more(struct fold *fold)
{
    for (uint32_t i = 0; i < fold->shown->nodes; i++) {
        struct more *more = &fold->more[i];
        if (!more->sum)
            continue;
        char text[32];
        int length = snprintf(text, sizeof text, "%" PRIu32 " more", fold->shown->node[more->at].tags);
        fold->shown->node[more->at].name = pl_arena_text(fold->shown->arena, text, (size_t) length);
        estimate(more->sum);
    }
}

static bool heavy(const struct pl_export_options *options, const struct pl_tag_node *node, double enough)
{
    return node->total.metric[options->metric].value >= enough;
}

void pl_shown_make(const struct pl_profile *profile, const struct pl_export_options *options,
                   struct pl_shown_bounds bounds, const struct pl_tag_tree *tree, struct pl_shown *out)
{
    struct pl_arena *arena = pl_arena_new();
    struct fold fold = {.profile = profile, .tree = tree, .shown = out};
    uint32_t *at = pl_arena_alloc(arena, tree->nodes * sizeof *at); /* index of each node of the tree in out->node */
    double enough = least(options);
    uint32_t few = tree->nodes > 1 && !heavy(options, &tree->node[1], enough) ? bounds.at_least : 0;
    *out = (struct pl_shown){.arena = arena, .node = pl_arena_alloc(arena, tree->nodes * sizeof *out->node)};
    fold.more = pl_arena_alloc(arena, tree->nodes * sizeof *fold.more);
    for (uint32_t i = 0; i < tree->nodes;) {
        const struct pl_tag_node *node = &tree->node[i];
        uint32_t parent = i ? at[node->parent] : PL_SHOWN_NONE;
        bool near = !bounds.depth || node->depth <= bounds.depth;
        bool largest = node->depth == 1 && few > 0;
        if (!i || (near && (largest || heavy(options, node, enough)))) {
            few -= largest;
            at[i++] = append_tag(&fold, node, parent);
        } else {
            take_in(&fold, node, parent);
            i += node->below + 1;
        }
    }
    name_more(&fold);
}

void pl_shown_free(struct pl_shown *shown)
{
    pl_arena_free(shown->arena);
    *shown = (struct pl_shown){0};
}

/* --- texts --- */

char *pl_shown_name(const struct pl_shown_node *node)
{
    char *clean = pl_label_clean(node->name);
    char *text = node->nested ? pl_label_print("%s ×%" PRIu32, clean, node->nested) : pl_label_print("%s", clean);
    free(clean);
    return text;
}

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

char *pl_shown_weight(const struct pl_export_options *options, const struct pl_tag_figures *figures)
{
    double whole = pl_shown_whole(options), value = figures->metric[options->metric].value;
    char *figure = figure_of(options->metric, figures);
    char *text = pl_label_print("%s (%.1f%%)", figure, whole > 0 ? value / whole * 100 : 0);
    free(figure);
    return text;
}

char *pl_shown_beside(const struct pl_export_options *options, const struct pl_tag_figures *figures)
{
    bool calls = options->metric == PL_METRIC_ALLOC_OBJECTS;
    char *figure = figure_of(calls ? PL_METRIC_ALLOC_SPACE : PL_METRIC_ALLOC_OBJECTS, figures);
    char *text = pl_label_print("%s%s", figure, calls ? "" : figures->all_calls == 1 ? " call" : " calls");
    free(figure);
    return text;
}

char *pl_shown_threads(const struct pl_tag_tree *tree)
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

/* `metric` decides the unit. */
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

char *pl_shown_tooltip(const struct pl_profile *profile, const struct pl_tag_tree *tree,
                       const struct pl_shown_node *node)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = pl_grow_check(open_memstream(&text, &bytes), 1, 1);
    char *threads = pl_shown_threads(tree);
    if (node->parent == PL_SHOWN_NONE)
        fputs("everything; self: allocations without a tag\n", out);
    else
        print_name(out, profile, node);
    if (node->nested)
        fprintf(out, "nested in itself, %" PRIu32 " deep: recursion, or a missing plimsoll_pop()\n", node->nested);
    fprintf(out, "%s\nentered: ", threads);
    print_count(out, node->self->entered);
    for (int i = 0; i < pl_profile_metrics(profile); i++)
        print_both(out, pl_describe_metric(profile, (enum pl_metric) i)->word, (enum pl_metric) i,
                   &node->total->metric[i], &node->self->metric[i]);
    print_freed(out, node);
    print_functions(out, "calls, total", node->total);
    print_functions(out, "calls, self", node->self);
    fclose(out);
    free(threads);
    return pl_grow_check(text, 1, 1);
}
