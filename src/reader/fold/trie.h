/* SPDX-License-Identifier: MIT */
/*
 * trie.h - turns frame records into frames and stacks of a profile, with duplicates joined.
 *
 * Use: mark the nodes at which stacks begin; join; then ask for stacks.
 */
#ifndef PL_TRIE_H
#define PL_TRIE_H

#include "reader/base/index.h"
#include "reader/fold/functions.h"
#include "reader/image.h"

/* One frame record. Only nodes on a marked stack are looked at. */
struct pl_node {
    bool wanted;
    bool good;      /* it and all outer frames are valid */
    uint32_t same;  /* the first node of the same stack; mostly itself */
    uint32_t frame; /* index into profile->frame */
    uint32_t depth;
    uint32_t stack; /* index into profile->stack, + 1; 0: not asked for yet. Set only in the first of equal nodes */
};

struct pl_trie {
    struct pl_profile *profile;
    struct pl_image *image;
    const uint32_t *module_of; /* module record -> index into profile->module, PL_NO_MODULE if there is none */
    const struct pl_functions *functions;
    struct pl_node *node;
    uint64_t entries_left; /* bound on the expansion of stacks */
};

struct pl_trie pl_trie_new(struct pl_profile *profile, struct pl_image *image, struct pl_arena *scratch,
                           const uint32_t *module_of, const struct pl_functions *functions);

/* False if there is no such record. */
bool pl_trie_mark(struct pl_trie *trie, uint32_t node);

/* Fills profile->frame. Call it once, after the last mark. */
void pl_trie_join(struct pl_trie *trie);

/* Sets first_units of the frames. After pl_trie_join(). */
void pl_trie_date(struct pl_trie *trie);

/* Index into profile->stack, or PL_NO_STACK if the node is invalid. */
uint32_t pl_trie_stack(struct pl_trie *trie, uint32_t node);

#endif
