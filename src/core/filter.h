/* SPDX-License-Identifier: MIT */
/*
 * filter.h - tells free(), with one load, that a block is certainly not sampled.
 *
 * One byte per 2 KiB of address space, modulo 4 GiB, that says what the live table holds there. Zero means: nothing
 * of ours. The index is the low half of the address shifted right, so that it needs no mask:
 *
 *   mov %edi,%eax; shr $11,%eax; cmp $0,filter(%rax)
 *
 * Pages of the filter that nobody wrote to are all the kernel's one page of zeros, so reading them costs no memory and
 * little cache.
 *
 *   0           nothing of ours in this granule
 *   1 .. 128    one sample, in the n-th 16 bytes of the granule: all other blocks there are excluded without asking
 * anyone 129 .. 254  that many samples, less 128, somewhere 255         stuck: from now on the granule's frees always
 * ask the live table, which is slow but right
 */
#ifndef PL_FILTER_H
#define PL_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

#define PL_FILTER_SHIFT 11
#define PL_FILTER_BYTES (1u << (32 - PL_FILTER_SHIFT))
#define PL_FILTER_PLACES 128
#define PL_FILTER_STUCK 255
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

INLINE uint8_t pl_filter_more(uint8_t byte, const void *address)
{
    if (byte == 0)
        return pl_filter_place(address);
    return byte <= PL_FILTER_PLACES ? PL_FILTER_PLACES + 2 : (uint8_t) (byte + 1);
}

INLINE uint8_t pl_filter_less(uint8_t byte)
{
    return byte <= PL_FILTER_PLACES + 1 ? 0 : (uint8_t) (byte - 1);
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

INLINE void pl_filter_stick(const void *address)
{
    store_relaxed(pl_filter_byte(address), PL_FILTER_STUCK);
}

#endif
