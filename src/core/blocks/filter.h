/* SPDX-License-Identifier: MIT */
/*
 * filter.h - tells free(), with one load, that a block is not recorded.
 *
 * There is one byte per 2 KiB of address space (a granule), modulo 4 GiB. It says which tables may have blocks there;
 * zero means none. The index is the low half of the address shifted right, so that it needs no mask:
 *
 *   mov %edi,%eax; shr $11,%eax; cmp $0,filter(%rax)
 *
 * Pages of the filter that were never written all map the kernel's one page of zeros, so reading them costs no memory
 * and little cache.
 *
 *  ┌────────────┬──────────────────────────────────────────────────────────────────────────────┐
 *  │ 0          │ no recorded block in this granule                                            │
 *  │ 1 .. 128   │ one sample, in the n-th 16 bytes: the byte excludes all other blocks         │  ask live.h
 *  │ 129 .. 189 │ n - 128 samples, anywhere in the granule                                     │  ask live.h
 *  │ 190        │ no sample; blocks of exact mode only where the granule's mask has a bit      │  ask blocks.h
 *  │ 191        │ no sample; marked by exact mode, which may have blocks here                  │  ask blocks.h
 *  │ 192 .. 254 │ n - 191 samples, and marked by exact mode                                    │  ask both
 *  │ 255        │ stuck: anything may be here, for ever: slow but correct                      │  ask both
 *  └────────────┴──────────────────────────────────────────────────────────────────────────────┘
 *
 * The byte counts samples, but not exact mode's blocks: there are many of them, and setting a mark that is already set
 * costs only a load. So a mark is cleared only after a search has found no block. If the search does find blocks, it
 * writes a mask of them, and the byte becomes 190 (pl_block_sift).
 */
#ifndef PL_FILTER_H
#define PL_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

#define PL_FILTER_SHIFT 11
#define PL_FILTER_BYTES (1u << (32 - PL_FILTER_SHIFT))
#define PL_FILTER_PLACES 128
#define PL_FILTER_COUNT_MAX 189
#define PL_FILTER_MASKED 190
#define PL_FILTER_EXACT 191
#define PL_FILTER_STUCK 255
#define PL_FILTER_ALIAS_BITS 32 /* addresses with the same low 32 bits share a byte */
_Static_assert(PL_FILTER_PLACES << 4 == 1 << PL_FILTER_SHIFT, "a granule has that many places of 16 bytes");

extern HIDDEN uint8_t pl_filter[PL_FILTER_BYTES];

INLINE uint8_t *pl_filter_byte(const void *address)
{
    return &pl_filter[(uint32_t) (uintptr_t) address >> PL_FILTER_SHIFT];
}

INLINE uint8_t pl_filter_place(const void *address)
{
    return (uint8_t) (1 + ((uintptr_t) address >> 4) % PL_FILTER_PLACES);
}

/* True if the byte is enough to know that the block is not recorded: nothing is, or one sample elsewhere. */
INLINE bool pl_filter_excludes(const void *address)
{
    uint8_t byte = load_relaxed(pl_filter_byte(address));
    return byte <= PL_FILTER_PLACES && byte != pl_filter_place(address);
}

/* May only the live table of samples have blocks in a granule with this byte? */
INLINE bool pl_filter_is_sampled(uint8_t byte)
{
    return byte <= PL_FILTER_COUNT_MAX;
}

/* May exact mode (blocks.h) have blocks in a granule with this byte? */
INLINE bool pl_filter_is_exact(uint8_t byte)
{
    return byte >= PL_FILTER_MASKED;
}

/* Has exact mode marked the granule, for every block that it may have there? */
INLINE bool pl_filter_is_marked(uint8_t byte)
{
    return byte >= PL_FILTER_EXACT;
}

/* Does the byte say that only exact mode may have blocks there? */
INLINE bool pl_filter_is_only_exact(uint8_t byte)
{
    return byte == PL_FILTER_EXACT || byte == PL_FILTER_MASKED;
}

INLINE uint8_t pl_filter_more(uint8_t byte, const void *address)
{
    if (byte == 0)
        return pl_filter_place(address);
    if (byte <= PL_FILTER_PLACES)
        return PL_FILTER_PLACES + 2;
    if (byte == PL_FILTER_MASKED)
        return PL_FILTER_EXACT + 1;
    return byte != PL_FILTER_COUNT_MAX && byte != PL_FILTER_STUCK ? (uint8_t) (byte + 1) : PL_FILTER_STUCK;
}

INLINE uint8_t pl_filter_less(uint8_t byte)
{
    if (byte <= PL_FILTER_PLACES + 1)
        return 0;
    return pl_filter_is_only_exact(byte) ? byte : (uint8_t) (byte - 1);
}

INLINE uint8_t pl_filter_marked(uint8_t byte)
{
    if (byte == 0 || byte == PL_FILTER_MASKED)
        return PL_FILTER_EXACT;
    return byte <= PL_FILTER_PLACES ? PL_FILTER_EXACT + 1 : (uint8_t) (PL_FILTER_EXACT + (byte - PL_FILTER_PLACES));
}

/* If there are too many samples for the range without the mark, the mark stays. */
INLINE uint8_t pl_filter_unmarked(uint8_t byte)
{
    if (pl_filter_is_only_exact(byte))
        return 0;
    uint8_t samples = (uint8_t) (byte - PL_FILTER_EXACT);
    return samples <= PL_FILTER_COUNT_MAX - PL_FILTER_PLACES ? (uint8_t) (PL_FILTER_PLACES + samples) : byte;
}

INLINE void pl_filter_add(const void *address)
{
    uint8_t *byte = pl_filter_byte(address);
    uint8_t old = load_relaxed(byte);
    while (old != PL_FILTER_STUCK && !__atomic_compare_exchange_n(byte, &old, pl_filter_more(old, address), 0,
                                                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

INLINE void pl_filter_drop(const void *address)
{
    uint8_t *byte = pl_filter_byte(address);
    uint8_t old = load_relaxed(byte);
    while (old != PL_FILTER_STUCK &&
           !__atomic_compare_exchange_n(byte, &old, pl_filter_less(old), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

/* Exact mode has a block here. Nearly always the mark is set already, and this is a load and a comparison. */
INLINE void pl_filter_mark_exact(const void *address)
{
    uint8_t *byte = pl_filter_byte(address);
    uint8_t old = load_relaxed(byte);
    while (unlikely(!pl_filter_is_marked(old)) &&
           !__atomic_compare_exchange_n(byte, &old, pl_filter_marked(old), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

/* The opposite. The caller must know that no block of exact mode is left here and that none is being added. */
INLINE void pl_filter_unmark_exact(const void *address)
{
    uint8_t *byte = pl_filter_byte(address);
    uint8_t old = load_relaxed(byte);
    while (pl_filter_is_exact(old) && old != PL_FILTER_STUCK &&
           !__atomic_compare_exchange_n(byte, &old, pl_filter_unmarked(old), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

/* The granule's mask has a bit for every block of exact mode that is left here. Granules with samples keep the mark. */
INLINE void pl_filter_use_mask(const void *address)
{
    uint8_t old = PL_FILTER_EXACT;
    __atomic_compare_exchange_n(pl_filter_byte(address), &old, PL_FILTER_MASKED, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

INLINE void pl_filter_stick(const void *address)
{
    store_relaxed(pl_filter_byte(address), PL_FILTER_STUCK);
}

#endif
