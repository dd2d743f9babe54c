/* SPDX-License-Identifier: MIT */
/*
 * blocks.h - a word for every block, found by its address: the live table of exact mode.
 *
 * A radix over the address: the upper bits name a region of 64 MiB, a region has a slab of 8-byte slots, one per
 * granule, and the kernel provides its pages as they are touched. A slab is 16 MiB of address space where the granule
 * is 32 bytes and 64 MiB where it is 8. No rehash, no tombstone, no lock: an address belongs to whoever allocated it
 * until it is freed, and so does its slot.
 *
 *   46        37 36         26 25          5 or 3
 *  ┌────────────┬─────────────┬──────────────┐
 *  │ top        │ low         │ slot         │
 *  └────────────┴─────────────┴──────────────┘
 *
 * The granule follows the allocator: glibc's blocks begin at least 32 bytes apart; jemalloc, tcmalloc and mimalloc
 * place two 8-byte blocks in 16 bytes. But all larger ones begin at multiples of 16 there, so the others, the odd ones,
 * have a part of the slab for themselves, and most programs touch only half of it:
 *
 *   granule 32   │ 0, 32, 64 ...                                     │ one more │
 *   granule 8    │ 0, 16, 32 ...          │ one more │ 8, 24, 40 ... │ one more │
 *
 *   63              42 41                           6 5      0
 *  ┌──────────────────┬──────────────────────────────┬────────┐    0: nothing is known of a block here
 *  │ tally            │ time, in units               │ size   │    size 63: it is that or more, and in the next slot,
 *  └──────────────────┴──────────────────────────────┴────────┘    which is the block's too
 *
 * The time wraps after 2^36 units, about 30 hours: a block that lives longer seems younger.
 *
 * Slabs stay until the process ends. A child finds the table empty, and may read what a register still points to.
 */
#ifndef PL_BLOCKS_H
#define PL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

#define PL_REGION_SHIFT 26 /* 64 MiB */
#define PL_REGION_TOP_BITS 10
#define PL_REGION_LOW_BITS 11 /* 10 + 11 + 26 = 47 bits of address */

#define PL_BLOCK_TALLY_SHIFT 42
#define PL_BLOCK_TALLY_MAX ((1u << 22) - 1)
#define PL_BLOCK_TIME_SHIFT 6
#define PL_BLOCK_TIME_MASK ((1ull << 36) - 1)
#define PL_BLOCK_SIZE_NEXT 63u

#define PL_BLOCK_PAGE 512u /* slots */
#define PL_BLOCK_ODD ((1u << PL_REGION_SHIFT >> 4) + PL_BLOCK_PAGE)
#define PL_BLOCK_SPARES 8

struct pl_blocks {
    uint64_t **top[1u << PL_REGION_TOP_BITS];       /* each: 2^11 slabs */
    uint32_t granule_shift;                         /* 5 or 3; set at start */
    uint64_t tops[(1u << PL_REGION_TOP_BITS) / 64]; /* a bit for each entry of top that is there */
    uint64_t mapped_bytes;                          /* address space of all slabs */
    uint32_t denied;                                /* calls that are not to ask the kernel for another slab */
    uint64_t *spare[PL_BLOCK_SPARES];               /* for a sandbox, where there is no new memory */
};

INLINE uintptr_t pl_block_index(const struct pl_blocks *blocks, uintptr_t address)
{
    uintptr_t offset = address & ((1ull << PL_REGION_SHIFT) - 1);
    if (likely(blocks->granule_shift == 5))
        return offset >> 5;
    return (offset >> 4) + (offset >> 3 & 1) * PL_BLOCK_ODD;
}

/* The slot of an address, or NULL when its region has no slab. There is always one behind it. */
INLINE uint64_t *pl_block_find(const struct pl_blocks *blocks, uintptr_t address)
{
    uintptr_t region = address >> PL_REGION_SHIFT;
    if (unlikely(region >> (PL_REGION_TOP_BITS + PL_REGION_LOW_BITS)))
        return (uint64_t *) 0;
    uint64_t **low = load_acquire(&blocks->top[region >> PL_REGION_LOW_BITS]);
    if (unlikely(!low))
        return (uint64_t *) 0;
    uint64_t *slab = load_acquire(&low[region & ((1u << PL_REGION_LOW_BITS) - 1)]);
    if (unlikely(!slab))
        return (uint64_t *) 0;
    return &slab[pl_block_index(blocks, address)];
}

/* The same, and makes the slab if need be. NULL when there is no memory, when it would take more than an eighth of what
 * RLIMIT_AS allows, or in a sandbox that has used up its spare slabs. */
uint64_t *pl_block_make(struct pl_blocks *blocks, uintptr_t address);

/* In a forked child, before it makes its own: gives back the address space of its parent's slabs. */
void pl_block_abandon(void);

/* Lays in spare slabs, before a sandbox is entered. */
void pl_block_reserve(struct pl_blocks *blocks);

/* Is any block known in the aligned 2^log2 bytes (at most 2^26) around an address, or around another one that looks the
 * same to the free filter, 4 GiB or more away? */
bool pl_block_any_near(const struct pl_blocks *blocks, uintptr_t address, unsigned log2_bytes);

/* For a free in a granule that the filter has marked, well after exact mode was left: clears the mark when no block is
 * left there. Insertions that began in exact mode must be over. One that begins while we are here, because exact mode
 * has returned, is seen, but for the moment that its store takes to arrive. */
void pl_block_forget_near(const struct pl_blocks *blocks, uintptr_t address);

#endif
