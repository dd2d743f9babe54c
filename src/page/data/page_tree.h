/* SPDX-License-Identifier: MIT */
/*
 * page_tree.h - the call tree of page data: functions, places (a line of a function), and nodes (a place called from
 * another node).
 *
 * It has every frame of a stack, also inlined and recursive ones; the page decides which to hide. A stack, with its
 * functions and places, is added when pl_page_tree_stack() first asks for it, so the tree has only what is used.
 *
 * Invariant: node 0 is the root, a node comes after its parent, and no two have the same parent and place.
 */
#ifndef PL_PAGE_TREE_H
#define PL_PAGE_TREE_H

#include "analysis/location.h"
#include "page/data/page_texts.h"

struct pl_page_function {
    uint32_t name, full, file, source; /* texts */
    uint32_t module;
    uint8_t role, language;
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

/* The nodes of a stack: `node` is the innermost. Reports show nodes from `inner` to `outer`, and name the site after
 * `own` (path.h). */
struct pl_page_stack {
    uint32_t node, inner, own, outer;
};

struct pl_page_step {
    uint32_t location, node;
};

struct pl_page_tree {
    const struct pl_profile *profile;
    const struct pl_locations *locations;
    struct pl_page_texts texts;
    bool several; /* there may be several builds: identify functions by what builds have in common */
    uint32_t functions;
    struct pl_page_function *function;
    uint32_t *function_location; /* one of its locations */
    uint32_t places;
    struct pl_page_place *place;
    uint32_t *place_of_location; /* PL_PAGE_NONE: not asked for yet */
    uint32_t nodes, node_room;
    struct pl_page_node *node;
    uint32_t *node_of_stack;     /* likewise; after the stacks: one for lost stacks, one for other sizes */
    struct pl_page_stack *stack; /* same indexes; valid if node_of_stack is not PL_PAGE_NONE */
    /* The last stack that was added. */
    uint32_t *location;        /* innermost first */
    struct pl_page_step *step; /* outermost first */
    uint32_t depth, depth_room;
    struct pl_index function_index, place_index, node_index;
    struct pl_arena *arena, *node_arena; /* node_arena: of node_index, which is rebuilt when it grows */
};

struct pl_page_tree *pl_page_tree_new(const struct pl_profile *profile, const struct pl_locations *locations);
void pl_page_tree_free(struct pl_page_tree *tree);

/* The nodes of a stack. If there is none (PL_NO_STACK), all four are a node that stands for lost stacks or for other
 * sizes. */
struct pl_page_stack pl_page_tree_stack(struct pl_page_tree *tree, uint32_t stack, bool other_sizes);

#endif
