/* SPDX-License-Identifier: MIT */
/*
 * trie.h - the frame records of a snapshot, with duplicates joined, as frames and stacks of a profile.
 *
 * Use: mark the nodes at which stacks begin; join; then ask for stacks.
 */
#ifndef PL_TRIE_H
#define PL_TRIE_H

#include "index.h"
#include "snapshot.h"

/* One frame record. Only nodes on a marked stack are looked at. */
struct pl_node {
    bool wanted;
    bool good;      /* it and everything outward of it makes sense */
    uint32_t same;  /* the first node that is the same stack; itself, most often */
    uint32_t frame; /* index into profile->frame */
    uint32_t depth;
    uint32_t stack; /* index into profile->stack, + 1; 0: not asked for yet. For the first of the same */
};

struct pl_trie {
    struct pl_profile *profile;
    struct pl_snapshot *snapshot;
    const uint32_t *module_of; /* module record -> index into profile->module, PL_NO_MODULE if there is none */
    struct pl_node *node;
    uint64_t entries_left; /* bound on the expansion of stacks */
};

struct pl_trie pl_trie_new(struct pl_profile *profile, struct pl_snapshot *snapshot, struct pl_arena *scratch,
                           const uint32_t *module_of);

/* False if there is no such record. */
bool pl_trie_mark(struct pl_trie *trie, uint32_t node);

/* Fills profile->frame. To be called once, when all is marked. */
void pl_trie_join(struct pl_trie *trie, struct pl_arena *scratch);

/* Index into profile->stack, or PL_NO_STACK if the node makes no sense. */
uint32_t pl_trie_stack(struct pl_trie *trie, uint32_t node);

#endif
