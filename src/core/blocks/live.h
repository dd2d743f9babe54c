/* SPDX-License-Identifier: MIT */
/*
 * live.h - remembers sampled addresses until they are freed.
 *
 * The free filter answers nearly every free, so this table is small and rarely searched. It has groups of eight
 * addresses; an address can be in one group per level, and levels are added as they are needed. Looking an address up
 * reads one cache line per level in use (one level holds 1,024 samples, two 5,120, three 21,504); removing it stores
 * one word. No rehash, no tombstone, no lock.
 *
 * Who may touch what: an address belongs to the thread that allocated it until it is freed, so two threads never insert
 * or remove the same address at the same time. Two threads may want the same empty slot; compare-and-swap on the slot's
 * address decides.
 *
 * Invariant: a record exists iff its sample is counted in its row's live figures and in the filter.
 */
#ifndef PL_LIVE_H
#define PL_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#define PL_LIVE_LEVELS 7
#define PL_LIVE_GROUP 8

/* What the table remembers of a sample, and rows.c adds to a row of the file. It is not written to the file itself. */
struct pl_record {
    uint64_t size;
    double weight;
    uint32_t row;
    uint32_t thread; /* record number of the thread that owns the row */
    uint64_t calls;  /* that this thread had made by then, this one included */
    uint64_t units;  /* when it was allocated */
};

/* A link_map of the loader: its free shows that the module was unloaded. Its key is odd, which no block's is. */
#define PL_LIVE_LINK_MAP 1u
#define PL_ROW_LINK_MAP UINT32_MAX

struct pl_live_group {
    uintptr_t address[PL_LIVE_GROUP];
    struct pl_record record[PL_LIVE_GROUP];
};

struct pl_live {
    struct pl_live_group *level[PL_LIVE_LEVELS];
};

/* Makes the first `levels` levels now, as far as there is memory. */
void pl_live_reserve(struct pl_live *live, unsigned levels);

/* False if there is no room. The address must not be in the table. */
bool pl_live_insert(struct pl_live *live, uintptr_t address, const struct pl_record *record);

bool pl_live_has(struct pl_live *live, uintptr_t key);

/* Copies the record of a block, which stays in the table. */
bool pl_live_find(struct pl_live *live, uintptr_t address, struct pl_record *record);

/* What the table had for an address: a sampled block, a link_map, or both (the loader's own memory may be sampled). */
struct pl_live_found {
    bool block;
    bool link_map;
    struct pl_record record; /* the block's */
};

/* Removes what the table has for an even address; false if it has nothing. */
bool pl_live_take(struct pl_live *live, uintptr_t address, struct pl_live_found *out);

#endif
