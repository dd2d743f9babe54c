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

#include "core/arch.h"
#include "core/compiler.h"

#define PL_LIVE_LEVELS 7
#define PL_LIVE_GROUP 8

/* What the table remembers of a sample, and rows.c adds to a row of the file. It is not written to the file itself. */
struct pl_record {
    uint64_t size;
    double weight;
    uint32_t row;
    uint32_t thread; /* record number of the thread that owns the row */
    uint64_t charge; /* of all that this thread had allocated by then, this block included */
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

#define PL_LIVE_GROUPS_LOG2(level) (7 + 2 * (level))

/* `plimsoll report --memory` reads the table from outside: to be incremented with any change of it that matters there.
 */
#define PL_LIVE_LAYOUT 1u

/* A block and a link_map at the same address share a group, so looking up both costs one cache miss. Only one
 * multiplication, because a free of a block near a sampled one has to wait for it. */
INLINE struct pl_live_group *pl_live_group(struct pl_live_group *level, unsigned number, uintptr_t address)
{
    return &level[address / 2 * 0x9e3779b97f4a7c15u >> (64 - PL_LIVE_GROUPS_LOG2(number))];
}

/* Is this the key of the block, or of the link_map, at an address? */
INLINE bool pl_live_is_at(uintptr_t key, uintptr_t address)
{
    return (key ^ address) <= PL_LIVE_LINK_MAP;
}

/* Has it anything for an even address? Inline, for the frees of blocks that only lie near samples: there are many. */
INLINE bool pl_live_knows(const struct pl_live *live, uintptr_t address)
{
    struct pl_live_group *level;
    address = pl_arch_untagged(address);
    for (unsigned i = 0; i < PL_LIVE_LEVELS && (level = load_acquire(&live->level[i])); i++) {
        const struct pl_live_group *group = pl_live_group(level, i, address);
#pragma GCC unroll 8
        for (unsigned k = 0; k < PL_LIVE_GROUP; k++)
            if (unlikely(pl_live_is_at(load_relaxed(&group->address[k]), address)))
                return true;
    }
    return false;
}

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
