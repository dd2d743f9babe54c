/* SPDX-License-Identifier: MIT */
/*
 * locate.h - which block an address is in: one look at a small table, then one at the block.
 *
 *   address   47              24 23                9 8       4 3  0
 *            ┌──────────────────┬───────────────────┬─────────┬────┐
 *            │ region           │ line              │ granule │    │
 *            └──────────────────┴───────────────────┴─────────┴────┘
 *
 * A region of 16 MiB that blocks reach into has a table. A line of it says how many blocks begin before its 512 bytes,
 * and has a bit for each of their 32 granules, set if a block begins there. So the blocks that begin up to an address
 * are counted, and the last of them is the only one that may have it. Where blocks may begin at any multiple of 8, a
 * granule is 8 bytes, and a line 256.
 *
 * A table takes 1.6% of its region (3.1% with granules of 8 bytes), however many blocks there are.
 */
#ifndef PL_LOCATE_H
#define PL_LOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/compiler.h"

#define PL_LOCATE_REGION_SHIFT 24
#define PL_LOCATE_GRANULES 32u /* of a line */

struct pl_locate_line {
    uint32_t before; /* blocks that begin before it, in any region */
    uint32_t begins; /* a bit for each granule in which a block begins */
};

struct pl_locate {
    struct pl_locate_line **region; /* NULL: no block reaches into it */
    uint64_t first, count;          /* regions */
    unsigned granule_shift;         /* 4 or 3 */
    struct pl_locate_line **table;  /* all tables: a region that one block fills shares one with its neighbours */
    size_t tables, room;
};

struct pl_locate_block {
    uint64_t from, to; /* `to` may be beyond where the next one begins */
};

/* Makes the index of `count` blocks, by address, of which no two begin in the same granule, and each begins where a
 * granule does. False: no memory. */
bool pl_locate_make(struct pl_locate *index, uint32_t count, unsigned granule_shift,
                    struct pl_locate_block (*block)(const void *context, uint32_t number), const void *context);
void pl_locate_free(struct pl_locate *index);

/* The line of an address; NULL: no block has it. */
INLINE const struct pl_locate_line *pl_locate_line(const struct pl_locate *index, uint64_t address)
{
    uint64_t region = (address >> PL_LOCATE_REGION_SHIFT) - index->first;
    const struct pl_locate_line *table = region < index->count ? index->region[region] : NULL;
    uint64_t offset = address & ((1ull << PL_LOCATE_REGION_SHIFT) - 1);
    return table ? &table[(offset >> index->granule_shift) / PL_LOCATE_GRANULES] : NULL;
}

/* How many blocks begin at this address or before; 0 also if no block has it. `begins`: one begins at the address. */
INLINE uint32_t pl_locate_count(const struct pl_locate *index, uint64_t address, bool *begins)
{
    const struct pl_locate_line *line = pl_locate_line(index, address);
    *begins = false;
    if (!line)
        return 0;
    uint64_t granule = (address >> index->granule_shift) % PL_LOCATE_GRANULES;
    uint32_t up_to = line->begins << (PL_LOCATE_GRANULES - 1 - granule);
    *begins = up_to >> (PL_LOCATE_GRANULES - 1) && address % (1u << index->granule_shift) == 0;
    return line->before + (uint32_t) __builtin_popcount(up_to);
}

#endif
