/* SPDX-License-Identifier: MIT */
/*
 * shown.c - what is shown of a tree of tags.
 *
 * A tree's nodes come with the heaviest child first. So once a child is too small, all that follow are, and one pass
 * suffices: the first of them becomes "N more", and takes the others in.
 */
#include "shown.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "arena.h"
#include "tagfigures.h"

/* --- figures --- */

/* Until all are added, metric[].high is the most that may have gone unseen in one of them: where samples found nothing,
 * that is all there is to say. */
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
    pl_figures_estimate(&figures->figures, figures->metric);
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

/* All of "N more" is its own: nothing is shown below it. */
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
    uint32_t *at = pl_arena_alloc(arena, tree->nodes * sizeof *at); /* where a node of the tree is shown */
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
