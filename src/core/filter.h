/* SPDX-License-Identifier: MIT */
/*
 * filter.h - tells free(), with one load, that nothing is known of a block.
 *
 * One byte per 2 KiB of address space, modulo 4 GiB, that says which tables know of blocks there. Zero means: none. The
 * index is the low half of the address shifted right, so that it needs no mask:
 *
 *   mov %edi,%eax; shr $11,%eax; cmp $0,filter(%rax)
 *
 * Pages of the filter that nobody wrote to are all the kernel's one page of zeros, so reading them costs no memory and
 * little cache.
 *
 *  ┌────────────┬──────────────────────────────────────────────────────────────────────────────┐
 *  │ 0          │ nothing of ours in this granule                                              │
 *  │ 1 .. 128   │ one sample, in the n-th 16 bytes: all other blocks are excluded by the byte  │  ask live.h
 *  │ 129 .. 190 │ that many samples, less 128, somewhere                                       │  ask live.h
 *  │ 191        │ no sample; exact mode has put blocks here, and some may be left              │  ask blocks.h
 *  │ 192 .. 254 │ the same, and that many samples, less 191                                    │  ask both
 *  │ 255        │ stuck: anything may be here, now and for ever, which is slow but right       │  ask both
 *  └────────────┴──────────────────────────────────────────────────────────────────────────────┘
 *
 * Samples are counted and exact mode's blocks are not: there are many of them, and a byte that is already right costs
 * one load. So the mark goes away only when somebody has looked (pl_block_forget_near).
 */
#ifndef PL_FILTER_H
#define PL_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

#define PL_FILTER_SHIFT 11
#define PL_FILTER_BYTES (1u << (32 - PL_FILTER_SHIFT))
#define PL_FILTER_PLACES 128
#define PL_FILTER_COUNT_MAX 190
#define PL_FILTER_EXACT 191
#define PL_FILTER_STUCK 255
#define PL_FILTER_ALIAS_BITS 32 /* addresses that agree in so many low bits share a byte */
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

/* True when the one sample in the granule is not this block. */
INLINE bool pl_filter_excludes(const void *address)
{
    uint8_t byte = load_relaxed(pl_filter_byte(address));
    return byte <= PL_FILTER_PLACES && byte != pl_filter_place(address);
}

/* Whether blocks.h may know of blocks in a granule with this byte. */
INLINE bool pl_filter_is_exact(uint8_t byte)
{
    return byte >= PL_FILTER_EXACT;
}

INLINE uint8_t pl_filter_more(uint8_t byte, const void *address)
{
    if (byte == 0)
        return pl_filter_place(address);
    if (byte <= PL_FILTER_PLACES)
        return PL_FILTER_PLACES + 2;
    return byte != PL_FILTER_COUNT_MAX && byte != PL_FILTER_STUCK ? (uint8_t) (byte + 1) : PL_FILTER_STUCK;
}

INLINE uint8_t pl_filter_less(uint8_t byte)
{
    if (byte <= PL_FILTER_PLACES + 1)
        return 0;
    return byte != PL_FILTER_EXACT ? (uint8_t) (byte - 1) : PL_FILTER_EXACT;
}

INLINE uint8_t pl_filter_marked(uint8_t byte)
{
    if (byte == 0)
        return PL_FILTER_EXACT;
    return byte <= PL_FILTER_PLACES ? PL_FILTER_EXACT + 1 : (uint8_t) (PL_FILTER_EXACT + (byte - PL_FILTER_PLACES));
}

/* One sample too many to be counted without the mark keeps it. */
INLINE uint8_t pl_filter_unmarked(uint8_t byte)
{
    if (byte == PL_FILTER_EXACT)
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

/* Exact mode has put a block here. Nearly always it has before, and this is a load and a comparison. */
INLINE void pl_filter_mark_exact(const void *address)
{
    uint8_t *byte = pl_filter_byte(address);
    uint8_t old = load_relaxed(byte);
    while (unlikely(!pl_filter_is_exact(old)) &&
           !__atomic_compare_exchange_n(byte, &old, pl_filter_marked(old), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

/* The opposite: for whoever knows that no block is left, and that none is being put here. */
INLINE void pl_filter_unmark_exact(const void *address)
{
    uint8_t *byte = pl_filter_byte(address);
    uint8_t old = load_relaxed(byte);
    while (pl_filter_is_exact(old) && old != PL_FILTER_STUCK &&
           !__atomic_compare_exchange_n(byte, &old, pl_filter_unmarked(old), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

INLINE void pl_filter_stick(const void *address)
{
    store_relaxed(pl_filter_byte(address), PL_FILTER_STUCK);
}

#endif
