/* SPDX-License-Identifier: MIT */
/*
 * tagtree.h - the tree of tags with its figures, self and total, for each group of threads.
 *
 * Calls, bytes and entries are exact, from scopes; the rest is added up from sites, and estimated once per node, so
 * that a total has its own interval and not a sum of intervals.
 *
 * Invariant: a node's total is its self and the totals of its children.
 */
#ifndef PL_TAGTREE_H
#define PL_TAGTREE_H

#include "analysis/groups.h"
#include "reader/profile.h"

struct pl_tag_figures {
    uint64_t entered;
    uint64_t calls[PL_FN_MAX]; /* exact, as the next two */
    uint64_t all_calls;
    uint64_t bytes;
    struct pl_figures figures;
    struct pl_estimate metric[PL_METRIC_COUNT]; /* alloc_objects and alloc_space are all_calls and bytes: exact */
};

/* Nodes are in the order in which they are shown: a parent, then its children with all that is below them, the heaviest
 * first. Node 0 is the root. Tags under which nothing happened in these threads are left out. */
struct pl_tag_node {
    uint32_t tag;    /* index into profile->tag */
    uint32_t parent; /* index of node; the root is its own */
    uint32_t depth;
    uint32_t children; /* directly below */
    uint32_t below;    /* all: the next sibling is at index + below + 1 */
    uint32_t nested;   /* how deep the tag is nested in itself, if it stands for those inside; else 0 (tagfold.h) */
    struct pl_tag_figures self;
    struct pl_tag_figures total;
};

struct pl_tag_tree {
    const char *name; /* of the group of threads */
    uint32_t threads;
    uint32_t nodes;
    struct pl_tag_node *node;
};

struct pl_tag_forest {
    uint32_t trees; /* as many as groups, heaviest first */
    struct pl_tag_tree *tree;
    struct pl_arena *arena;
};

/* Heaviest by the value of this metric's total. */
void pl_tagtree_grow(const struct pl_profile *profile, const struct pl_groups *groups, enum pl_metric metric,
                     struct pl_tag_forest *out);
void pl_tagtree_free(struct pl_tag_forest *forest);

#endif
