/* SPDX-License-Identifier: MIT */
/*
 * ranges.h - which block an address range belongs to, where parts of blocks can be freed.
 *
 * A list has disjoint ranges in order of address, as a skip list: a node is in the lists of levels 0 to n with
 * probability 4^-n. A block is one range. If a part of it is freed, it is several pieces, and a node of its own, the
 * group, counts them: the block is gone when the last piece is.
 *
 *   block ──► piece ┬─► group: 2 pieces
 *             piece ┘
 *
 * What is about to be freed is detached: the pieces leave the list, but nothing is forgotten. If freeing them fails,
 * they are attached again.
 *
 * Nodes never move. All functions need the lock of the table (core/lock.h). Fork wipes nodes and lists.
 *
 * Invariant: a node is in a list, in a chain of detached ones, a group, or free.
 */
#ifndef PL_RANGES_H
#define PL_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#define PL_RANGE_LEVELS 7
#define PL_RANGE_CHUNKS 20 /* each is twice as large as the one before */

struct pl_range {
    uintptr_t from, to;
    uint64_t units;  /* when the block was allocated */
    uint32_t ledger; /* number of its record */
    uint32_t group;  /* 0: the block is whole. In a group: the number of its pieces */
    float weight;    /* of the sample that the block is; 0: it was counted */
    uint32_t next[PL_RANGE_LEVELS];
};

/* The nodes of all lists. */
struct pl_ranges {
    struct pl_range *chunk[PL_RANGE_CHUNKS];
    uint32_t made; /* nodes handed out so far, */
    uint32_t free; /* and those that were given back, as a chain */
    uint32_t draws;
};

struct pl_range_list {
    uint32_t first[PL_RANGE_LEVELS];
};

/* To be called before what needs new nodes: one for each range that is put, PL_RANGE_NEED to detach. */
#define PL_RANGE_NEED 4u
bool pl_range_reserve(struct pl_ranges *ranges, uint32_t nodes);

/* The range must not overlap another one. */
void pl_range_put(struct pl_ranges *ranges, struct pl_range_list *list, const struct pl_range *range);

/* Detaches all that lies between `from` and `to`; parts that lie outside of it stay. Returns a chain; 0: nothing was
 * there. */
uint32_t pl_range_detach(struct pl_ranges *ranges, struct pl_range_list *list, uintptr_t from, uintptr_t to);
void pl_range_attach(struct pl_ranges *ranges, struct pl_range_list *list, uint32_t chain);

/* Takes the first piece out of a chain, and forgets it. False: the chain is empty. `last`: its block has no other
 * piece. */
bool pl_range_pop(struct pl_ranges *ranges, uint32_t *chain, struct pl_range *piece, bool *last);

/* Copies the first range that ends after an address. False: there is none. */
bool pl_range_find(const struct pl_ranges *ranges, const struct pl_range_list *list, uintptr_t address,
                   struct pl_range *out);

/* The end of the range that begins here; 0: none does. */
uintptr_t pl_range_end(const struct pl_ranges *ranges, const struct pl_range_list *list, uintptr_t from);

#endif
