/* SPDX-License-Identifier: MIT */
/*
 * walk.h - reads memory and calls a function for each pointer to a block that it meets: in the roots, and in blocks.
 */
#ifndef PL_WALK_H
#define PL_WALK_H

#include "reach/roots.h"

struct pl_walk {
    struct pl_census *census;
    const struct pl_roots *roots;
    struct pl_space *space;
    /* For each pointer. `at` is where it is; 0: in a register. `begins`: it points to the beginning of the block. */
    void (*meet)(struct pl_walk *walk, uint32_t block, bool begins, uint64_t at);
    void *context;                        /* for meet() */
    uint32_t from;                        /* the block that is being scanned; PL_CENSUS_NONE: a root */
    const struct pl_roots_thread *thread; /* whose registers, and what they lead to, are being scanned; NULL: others */
    uint32_t *waiting;                    /* blocks that are to be scanned; room for each block once */
    uint32_t count;
    /* the rest is walk.c's */
    uint64_t *buffer; /* PL_SPACE_WINDOW bytes */
    struct pl_space_window window;
    bool bookkeeping; /* it is the allocator's */
    uint64_t low, high;
};

/* The census must have been settled. False: no memory. */
bool pl_walk_begin(struct pl_walk *walk, struct pl_census *census, const struct pl_roots *roots,
                   struct pl_space *space);
void pl_walk_end(struct pl_walk *walk);

/* Scans all roots. */
void pl_walk_roots(struct pl_walk *walk);

/* Scans as many of these blocks as fit into a buffer, at least one. Returns how many. */
size_t pl_walk_scan(struct pl_walk *walk, const uint32_t *number, size_t count);

/* Scans the blocks that wait, and those that meet() adds, until none waits. */
void pl_walk_drain(struct pl_walk *walk);

#endif
