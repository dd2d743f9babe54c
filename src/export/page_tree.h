/* SPDX-License-Identifier: MIT */
/*
 * page_tree.h - the tree of calls that page data has: functions, places in them, and nodes, which are places called
 * from nodes.
 *
 * All of a stack is in it, inlined functions and calls to itself too; what to leave out is for the page to decide.
 * Stacks, and what they are made of, are entered when they are asked for, so nothing is in it that no site has.
 *
 * Invariant: node 0 is the root, a node comes after its parent, and no two have the same parent and place.
 */
#ifndef PL_PAGE_TREE_H
#define PL_PAGE_TREE_H

#include "page_texts.h"
#include "spot.h"

struct pl_page_function {
    uint32_t name, full, file, source; /* texts */
    uint32_t module;
    uint8_t role;
};

struct pl_page_place {
    uint32_t function;
    uint32_t line;
};

struct pl_page_node {
    uint32_t parent;
    uint32_t place;
};

#define PL_PAGE_NONE UINT32_MAX

/* A stack as nodes, of which `node` is the innermost. Reports show those from `inner` to `outer`, and name a site after
 * `own` (path.h). */
struct pl_page_stack {
    uint32_t node, inner, own, outer;
};

struct pl_page_step {
    uint32_t spot, node;
};

struct pl_page_tree {
    const struct pl_profile *profile;
    const struct pl_spots *spots;
    struct pl_page_texts texts;
    bool several; /* builds, perhaps: functions are who they are in any of them */
    uint32_t functions;
    struct pl_page_function *function;
    uint32_t *function_spot; /* one of its spots */
    uint32_t places;
    struct pl_page_place *place;
    uint32_t *place_of_spot; /* PL_PAGE_NONE: not asked for yet, like the next */
    uint32_t nodes, node_room;
    struct pl_page_node *node;
    uint32_t *node_of_stack;     /* by stack; behind them what found no room, and other sizes */
    struct pl_page_stack *stack; /* likewise */
    /* The last stack that was entered. */
    uint32_t *spot;            /* innermost first */
    struct pl_page_step *step; /* outermost first */
    uint32_t depth, depth_room;
    struct pl_index function_index, place_index, node_index;
    struct pl_arena *arena, *node_arena; /* of the index of nodes, which grows */
};

struct pl_page_tree *pl_page_tree_new(const struct pl_profile *profile, const struct pl_spots *spots);
void pl_page_tree_free(struct pl_page_tree *tree);

/* The nodes of a stack. */
struct pl_page_stack pl_page_tree_stack(struct pl_page_tree *tree, uint32_t stack, bool other_sizes);

#endif
