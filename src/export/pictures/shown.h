/* SPDX-License-Identifier: MIT */
/*
 * shown.h - which tags of a tree are shown: those that are heavy enough by themselves, the others as "N more". And the
 * texts of pictures of them.
 *
 * Invariant: as in the tree itself, a node's total is its self and the totals of its children: nothing is lost by
 * combining tags.
 */
#ifndef PL_SHOWN_H
#define PL_SHOWN_H

#include "export/export.h"

#define PL_SHOWN_NONE UINT32_MAX

/* Nodes are in the order of the tree: a parent, then all that is below it, the heaviest first, "N more" last. */
struct pl_shown_node {
    uint32_t tag;     /* index into profile->tag; PL_SHOWN_NONE: several tags, each too small */
    uint32_t parent;  /* index of node; the root has PL_SHOWN_NONE */
    uint32_t depth;   /* the root has 0 */
    uint32_t tags;    /* how many it stands for: 1, or for several those below them too */
    uint32_t nested;  /* how deep it is nested in itself; 0: it is not */
    const char *name; /* the tag's; for the root the name of the group of threads; "12 more" */
    const struct pl_tag_figures *self;
    const struct pl_tag_figures *total;
};

struct pl_shown {
    uint32_t nodes;
    struct pl_shown_node *node;
    struct pl_arena *arena;
};

/* What all trees have of the metric, and the most that one node has by itself. */
double pl_shown_whole(const struct pl_export_options *options);
double pl_shown_heaviest(const struct pl_export_options *options);

/* How many trees are worth a picture: the first ones, as they are the heaviest. At least one is, if there is one. */
uint32_t pl_shown_trees(const struct pl_export_options *options);

/* What the trees from this one on have together. */
void pl_shown_sum(const struct pl_export_options *options, uint32_t first, struct pl_tag_figures *out);

/* How many levels are shown, and how many tags even if each is too small. */
struct pl_shown_bounds {
    uint32_t depth;    /* 0: all */
    uint32_t at_least; /* directly below the root */
};
#define PL_SHOWN_PICTURE ((struct pl_shown_bounds){.depth = 100, .at_least = 10})
#define PL_SHOWN_DATA ((struct pl_shown_bounds){0})

/* One tree. The root is always shown. */
void pl_shown_make(const struct pl_profile *profile, const struct pl_export_options *options,
                   struct pl_shown_bounds bounds, const struct pl_tag_tree *tree, struct pl_shown *out);
void pl_shown_free(struct pl_shown *shown);

/* --- texts of pictures: clean, as in label.h; tooltips have several lines. The caller frees them --- */

/* "parse", or "work ×16,383" if it is nested in itself. */
char *pl_shown_name(const struct pl_shown_node *node);

/* "worker-.* (8 threads)". */
char *pl_shown_threads(const struct pl_tag_tree *tree);

/* "12.4 MiB (48.0%)": the metric, and its share of the whole. */
char *pl_shown_weight(const struct pl_export_options *options, const struct pl_tag_figures *figures);

/* "5,678 calls"; if the metric is calls, the bytes they requested: "12.4 MiB". */
char *pl_shown_beside(const struct pl_export_options *options, const struct pl_tag_figures *figures);

/* Everything known of a node: its whole name, and all figures, on several lines. */
char *pl_shown_tooltip(const struct pl_profile *profile, const struct pl_tag_tree *tree,
                       const struct pl_shown_node *node);

#endif
