/* SPDX-License-Identifier: MIT */
/*
 * blocks.h - the live table of exact mode: one word for every block, found by the block's address.
 *
 * The table is a radix tree over the address. The upper bits select a region of 16 MiB. Each region has a slab of
 * 8-byte slots, one per granule, and the kernel provides the slab's pages as they are touched. A slab takes 5 MiB of
 * address space if the granule is 32 bytes, and 17 MiB if it is 8. There is no rehash, no tombstone and no lock: an
 * address belongs to the thread that allocated it until it is freed, and so does its slot.
 *
 *   46        35 34         24 23          5 or 3     (47 bits of address; on AArch64 48: one more in `top`)
 *  ┌────────────┬─────────────┬──────────────┐
 *  │ top        │ low         │ slot         │
 *  └────────────┴─────────────┴──────────────┘
 *
 * The granule depends on the allocator. glibc's blocks begin at least 32 bytes apart; jemalloc, tcmalloc and mimalloc
 * place two 8-byte blocks in 16 bytes, but begin all larger blocks at multiples of 16. So with a granule of 8, the
 * "odd" addresses (8 more than a multiple of 16) have their slots in a separate part of the slab, which most programs
 * never touch:
 *
 *   granule 32   │ 0, 32, 64 ...                                     │ one more │
 *   granule 8    │ 0, 16, 32 ...          │ one more │ 8, 24, 40 ... │ one more │
 *
 * "One more" is one extra page of slots.
 *
 * Large blocks, of 256 bytes and more, have slots of their own: one for each 128 bytes, so that they take a sixteenth
 * of the heap and not a quarter. At most one such block begins in 128 bytes, and it covers the next 128. A free does
 * not know the size: it looks at the small slot first, and at the large one if the small one is empty. Reading a page
 * of slots that was never written costs no memory.
 *
 *   in front of the slots   │ masks │ large: 0, 128, 256 ...  │ one more │
 *
 * There is a mask for each granule of the free filter (2 KiB), with a bit for each 32 bytes. It is used after auto mode
 * has turned to sampling. Exact mode's blocks are then few and their number only falls, but a free beside one of them
 * is still let through by the filter: the mask, which is 64 times denser than the slots, tells such a free that its
 * block is not one of them.
 *
 *   invariant: where the filter says PL_FILTER_MASKED, every block of exact mode has its bit. A bit without a block is
 *   harmless.
 *
 * A slot:
 *
 *   63              42 41                           6 5      0
 *  ┌──────────────────┬──────────────────────────────┬────────┐    word 0: no block is known here
 *  │ tally            │ time                         │ size   │    size 63: 63 or more; the next slot, which belongs to
 *  └──────────────────┴──────────────────────────────┴────────┘    the same block, has the exact size
 *
 * A large slot is the same, but in place of the size it has where in the 128 bytes the block begins, in units of 8; the
 * next slot always has the size.
 *
 * The time is in units since the start of the process, with 33 significant bits. 4 of its 36 bits say by how many bits
 * it was shifted, 32 are the rest of the number, without its highest bit. So it lasts for seven years, and is exact in
 * the first 3.8 hours. After that it is rounded down, and a lifetime may seem longer by what was cut off: up to 13 us
 * in a process that is a day old, 0.1 ms after a week, 0.8 ms after a month, 7 ms after a year. A cohort begins at a
 * multiple of 2^16 units, so a rounded time still is in the same cohort.
 *
 * An installed slab stays until the process ends; pages of it that hold no block are given back once auto mode samples.
 * A forked child starts with an empty table. Its parent's slabs are empty there, and stay mapped: if a signal handler
 * has forked, the interrupted code goes on in the child and may have a pointer to a slot in a register.
 */
#ifndef PL_BLOCKS_H
#define PL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arch.h"
#include "core/blocks/filter.h"
#include "core/compiler.h"
#include "core/memory.h"

#define PL_REGION_SHIFT 24 /* 16 MiB */
#define PL_REGION_LOW_BITS 11
#define PL_REGION_TOP_BITS (PL_ARCH_ADDRESS_BITS - PL_REGION_LOW_BITS - PL_REGION_SHIFT)

#define PL_BLOCK_TALLY_SHIFT 42
#define PL_BLOCK_TALLY_MAX ((1u << 22) - 1)
#define PL_BLOCK_TALLY_END ((PL_BLOCK_TALLY_MAX + 1ull) * 64) /* tallies lie before this byte of the file */
#define PL_BLOCK_TIME_SHIFT 6
#define PL_BLOCK_TIME_BITS 36
#define PL_BLOCK_TIME_MASK ((1ull << PL_BLOCK_TIME_BITS) - 1)
#define PL_BLOCK_TIME_DIGITS 32 /* and the highest bit, if the number has more */
#define PL_BLOCK_SIZE_NEXT 63u

#define PL_BLOCK_PAGE 512u /* slots */
#define PL_BLOCK_ODD ((1u << PL_REGION_SHIFT >> 4) + PL_BLOCK_PAGE)
#define PL_BLOCK_SPARES 32
#define PL_BLOCK_LARGE 256u /* bytes: the smallest large block */
#define PL_BLOCK_LARGE_SHIFT 7
#define PL_BLOCK_LARGE_SLOTS ((1u << (PL_REGION_SHIFT - PL_BLOCK_LARGE_SHIFT)) + PL_BLOCK_PAGE)
#define PL_BLOCK_MASKS (1u << (PL_REGION_SHIFT - PL_FILTER_SHIFT))
#define PL_BLOCK_FRONT (PL_BLOCK_MASKS + PL_BLOCK_LARGE_SLOTS) /* words in front of the first slot */
#define PL_BLOCK_MASK_SHIFT (PL_FILTER_SHIFT - 6)              /* a bit for each 2^this bytes */

/* `plimsoll leaks` reads the table from outside: to be incremented with any change of it that matters there. */
#define PL_BLOCKS_LAYOUT 1u

struct pl_blocks {
    uint32_t granule_shift;                         /* 5 or 3; set at start */
    uint64_t **top[1u << PL_REGION_TOP_BITS];       /* each: 2^11 slabs */
    uint64_t tops[(1u << PL_REGION_TOP_BITS) / 64]; /* a bit for each entry of top that is there */
    uint64_t mapped_bytes;                          /* address space of all slabs */
    uint32_t denied;                                /* number of further calls that must not try to map a slab */
    uint64_t *spare[PL_BLOCK_SPARES];               /* for use in a sandbox, where no memory can be mapped */
    uintptr_t giving_back; /* thread pointer of who is in pl_block_give_back(), which has come to */
    uint32_t given_slab;   /* this slab, */
    uint64_t given_bytes;  /* and this part of it */
};

INLINE uintptr_t pl_block_index(const struct pl_blocks *blocks, uintptr_t address)
{
    uintptr_t offset = address & ((1ull << PL_REGION_SHIFT) - 1);
    if (likely(blocks->granule_shift == 5))
        return offset >> 5;
    return (offset >> 4) + (offset >> 3 & 1) * PL_BLOCK_ODD;
}

/* Units as they are stored in a slot, and back. */
INLINE uint64_t pl_block_time_stored(uint64_t units)
{
    if (likely(units >> PL_BLOCK_TIME_DIGITS == 0))
        return units;
    unsigned more = 64 - (unsigned) __builtin_clzll(units) - PL_BLOCK_TIME_DIGITS; /* bits, from 1 on */
    uint64_t digits = units >> (more - 1) & ((1ull << PL_BLOCK_TIME_DIGITS) - 1);
    uint64_t stored = (uint64_t) more << PL_BLOCK_TIME_DIGITS | digits;
    return stored <= PL_BLOCK_TIME_MASK ? stored : PL_BLOCK_TIME_MASK;
}

INLINE uint64_t pl_block_time_units(uint64_t stored)
{
    uint64_t more = stored >> PL_BLOCK_TIME_DIGITS;
    if (likely(more == 0))
        return stored;
    uint64_t digits = stored & ((1ull << PL_BLOCK_TIME_DIGITS) - 1);
    return (1ull << PL_BLOCK_TIME_DIGITS | digits) << (more - 1);
}

/* The first slot of an address's region, or NULL if the region has no slab. */
INLINE uint64_t *pl_block_slab(const struct pl_blocks *blocks, uintptr_t address)
{
    uintptr_t region = pl_arch_untagged(address) >> PL_REGION_SHIFT;
    if (unlikely(region >> (PL_REGION_TOP_BITS + PL_REGION_LOW_BITS)))
        return (uint64_t *) 0;
    uint64_t **low = load_acquire(&blocks->top[region >> PL_REGION_LOW_BITS]);
    if (unlikely(!low))
        return (uint64_t *) 0;
    return load_acquire(&low[region & ((1u << PL_REGION_LOW_BITS) - 1)]);
}

/* Exact mode asks for both slots of an address before it has tested whether there is a slab. Without one the result
 * means nothing, but a sanitizer must not take that for a fault. */
#define MAYBE_NO_SLAB __attribute__((no_sanitize("pointer-overflow"))) INLINE

/* The small slot of an address. */
MAYBE_NO_SLAB uint64_t *pl_block_small(const struct pl_blocks *blocks, uint64_t *slab, uintptr_t address)
{
    return &slab[pl_block_index(blocks, address)];
}

/* The same, or NULL if the region has no slab. A slot is always followed by another one. */
INLINE uint64_t *pl_block_find(const struct pl_blocks *blocks, uintptr_t address)
{
    uint64_t *slab = pl_block_slab(blocks, address);
    return likely(slab != (uint64_t *) 0) ? pl_block_small(blocks, slab, address) : (uint64_t *) 0;
}

/* The large slot for the 128 bytes that an address is in. */
MAYBE_NO_SLAB uint64_t *pl_block_large(uint64_t *slab, uintptr_t address)
{
    return slab - PL_BLOCK_LARGE_SLOTS + ((address & ((1ull << PL_REGION_SHIFT) - 1)) >> PL_BLOCK_LARGE_SHIFT);
}

/* Where an address is in its 128 bytes, in units of 8. */
INLINE uint64_t pl_block_within(uintptr_t address)
{
    return address >> 3 & ((1u << (PL_BLOCK_LARGE_SHIFT - 3)) - 1);
}

/* Does a large slot with this word hold the block at this address? */
INLINE bool pl_block_is_large_at(uint64_t word, uintptr_t address)
{
    return word >> PL_BLOCK_TALLY_SHIFT && (word & PL_BLOCK_SIZE_NEXT) == pl_block_within(address);
}

/* Where a block of this size is put. */
INLINE uint64_t *pl_block_slot(const struct pl_blocks *blocks, uint64_t *slab, uintptr_t address, uint64_t size)
{
    return likely(size < PL_BLOCK_LARGE) ? pl_block_small(blocks, slab, address) : pl_block_large(slab, address);
}

/* The slot that has the block at this address, of whatever size; NULL if there is none. A small slot that is found may
 * hold the size of an older block whose free we did not see. */
INLINE uint64_t *pl_block_known(const struct pl_blocks *blocks, uintptr_t address, bool *large)
{
    uint64_t *slab = pl_block_slab(blocks, address);
    if (unlikely(!slab))
        return (uint64_t *) 0;
    uint64_t *slot = &slab[pl_block_index(blocks, address)];
    *large = !*slot;
    if (likely(*slot))
        return slot;
    slot = pl_block_large(slab, address);
    return pl_block_is_large_at(load_relaxed(slot), address) ? slot : (uint64_t *) 0;
}

/* The mask of an address's granule, in its region's slab, and the address's bit in it. */
INLINE uint64_t *pl_block_mask(uint64_t *slab, uintptr_t address)
{
    return &slab[(address & ((1ull << PL_REGION_SHIFT) - 1)) >> PL_FILTER_SHIFT] - PL_BLOCK_FRONT;
}

INLINE uint64_t pl_block_bit(uintptr_t address)
{
    return 1ull << (address >> PL_BLOCK_MASK_SHIFT) % 64;
}

/* In a granule that the filter calls PL_FILTER_MASKED: false if no block is known at this address. */
INLINE bool pl_block_may_be_left(const struct pl_blocks *blocks, uintptr_t address)
{
    uint64_t *slab = pl_block_slab(blocks, address);
    return slab && load_relaxed(pl_block_mask(slab, address)) & pl_block_bit(address);
}

/* The same, but maps the slab if it does not exist. NULL if there is no memory, if slabs would take more than an eighth
 * of RLIMIT_AS, or in a sandbox that has used up its spare slabs. */
uint64_t *pl_block_make(struct pl_blocks *blocks, uintptr_t address);

/* In a forked child, before it maps slabs of its own: unmaps those of its parent's ancestors. */
void pl_block_abandon(void);

/* Calls `visit` with the memory of each slab. False if there are more than are known. */
bool pl_block_each_slab(const struct pl_blocks *blocks, pl_memory_visitor *visit, void *context);

/* Unmaps all slabs: nothing of the process is recorded any more. */
void pl_block_free_all(void);

/* Maps spare slabs, before the program enters a sandbox, and the tables for where blocks will probably lie: within 1
 * GiB of some addresses. */
void pl_block_reserve(struct pl_blocks *blocks);
void pl_block_reserve_near(struct pl_blocks *blocks, uintptr_t address);

/* For a free that found nothing in a marked granule, after exact mode was left: replaces exact mode's mark by masks of
 * the blocks that are left in the granule, and in those that share its byte of the filter (the same address plus or
 * minus a multiple of 4 GiB); or clears it, if none is left. A block is inserted before its granule is marked, so a
 * concurrent insertion is noticed, unless its store is not visible to us yet. */
void pl_block_sift(const struct pl_blocks *blocks, uintptr_t address);

/* Gives pages of slots without a block back to the kernel: a few pages at each call, all slabs in turn. No thread may
 * be inserting a block, or begin to before `giving_back` is 0 again. */
void pl_block_give_back(struct pl_blocks *blocks);

/* A block was taken out of a granule with a mask: clears its bit. */
void pl_block_unmask(const struct pl_blocks *blocks, uintptr_t address);

#endif
