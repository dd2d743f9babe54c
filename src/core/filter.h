/* SPDX-License-Identifier: MIT */
/*
 * filter.h - tells free(), with one load, that a block is certainly not sampled.
 *
 * One byte per 2 KiB of address space, modulo 4 GiB, counting what the live table holds there. Zero means: nothing of
 * ours. The index is the low half of the address shifted right, so that it needs no mask:
 *
 *   mov %edi,%eax; shr $11,%eax; cmp $0,filter(%rax)
 *
 * Pages of the filter that nobody wrote to are all the kernel's one page of zeros, so reading them costs no memory and
 * little cache. A byte sticks at 255: from then on that granule always takes the cold path, which is slow but right.
 */
#ifndef PL_FILTER_H
#define PL_FILTER_H

#include <stdint.h>

#include "compiler.h"

#define PL_FILTER_SHIFT 11
#define PL_FILTER_BYTES (1u << (32 - PL_FILTER_SHIFT))
#define PL_FILTER_STUCK 255

extern HIDDEN uint8_t pl_filter[PL_FILTER_BYTES];

INLINE uint8_t *pl_filter_byte(const void *address)
{
    return &pl_filter[(uint32_t) (uintptr_t) address >> PL_FILTER_SHIFT];
}

INLINE void pl_filter_move(const void *address, int by)
{
    uint8_t *byte = pl_filter_byte(address);
    for (uint8_t old = load_relaxed(byte); old != PL_FILTER_STUCK;) {
        if (by < 0 && old == 0)
            return;
        if (__atomic_compare_exchange_n(byte, &old, (uint8_t) (old + by), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return;
    }
}

INLINE void pl_filter_add(const void *address)
{
    pl_filter_move(address, 1);
}

INLINE void pl_filter_drop(const void *address)
{
    pl_filter_move(address, -1);
}

INLINE void pl_filter_stick(const void *address)
{
    store_relaxed(pl_filter_byte(address), PL_FILTER_STUCK);
}

#endif
