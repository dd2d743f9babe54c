/* SPDX-License-Identifier: MIT */
/*
 * walk.h - reads memory and calls a function for each pointer to a block that it meets: in the roots, and in blocks.
 *
 * Blocks are read by address, so all of the heap is read once, in large pieces. Which pointers matter is for the caller
 * to say: following them in the order in which they lead from block to block would read the heap in small ones.
 */
#ifndef PL_WALK_H
#define PL_WALK_H

#include "reach/roots.h"

#define PL_WALK_HITS 32u

/* A word that may be a pointer to a block. */
struct pl_walk_hit {
    uint64_t word, at;
    uint32_t from;
};

struct pl_walk {
    struct pl_census *census;
    const struct pl_roots *roots;
    struct pl_space *space;
    /* For each pointer. `at` is where it is; 0: in a register. `begins`: it points to the beginning of the block. */
    void (*meet)(struct pl_walk *walk, uint32_t block, bool begins, uint64_t at);
    void *context;                        /* for meet() */
    const uint8_t *mark;                  /* by block: what meet() looks at first; NULL: nothing */
    uint32_t from;                        /* the block that is being scanned; PL_CENSUS_NONE: a root */
    const struct pl_roots_thread *thread; /* whose registers, and what they lead to, are being scanned; NULL: others */
    /* the rest is walk.c's */
    uint64_t *buffer; /* PL_SPACE_WINDOW bytes */
    bool bookkeeping; /* it is the allocator's */
    uint64_t low, high;
    struct pl_walk_hit hit[PL_WALK_HITS];
    unsigned hits;
};

/* The census must have been settled. False: no memory. */
bool pl_walk_begin(struct pl_walk *walk, struct pl_census *census, const struct pl_roots *roots,
                   struct pl_space *space);
void pl_walk_end(struct pl_walk *walk);

/* Scans all roots. */
void pl_walk_roots(struct pl_walk *walk);

/* Scans all blocks, by address. */
void pl_walk_blocks(struct pl_walk *walk);

#endif
