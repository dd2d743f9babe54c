/* SPDX-License-Identifier: MIT */
/*
 * pools.h - heaps that the program announces: arenas, pools, memory of another device.
 *
 * A pool is one arena of the program. All pools of one name are one heap of the profile, with ledgers (records/heaps.h)
 * that are sampled or exact as malloc is at that time. Each pool has a table of its own for its blocks, because a block
 * can have the address of its chunk, which is a block of another heap.
 *
 * A pool that is cleared frees all its blocks, and destroys the pools below it.
 *
 * Fork keeps pools, because the program keeps its handles, but not their tables: blocks of the parent are unknown to
 * the child, as those of malloc are.
 */
#ifndef PL_POOLS_H
#define PL_POOLS_H

#include <stdint.h>

#include "core/arch.h"
#include "core/process.h"
#include "core/unwind/unwind.h"

struct pl_pool;

/* NULL: the process is not profiled, or there is no memory. */
struct pl_pool *pl_pool_new(const char *name, struct pl_pool *parent);

/* `destroy`: the pool is not used any more. */
void pl_pool_clear(struct pl_pool *pool, bool destroy);

/* A block, allocated by the caller that `start` knows. `old`, unless NULL, is the block that it takes the place of. */
void pl_pool_allocated(struct pl_pool *pool, const void *old, const void *block, uint64_t bytes,
                       const struct pl_start *start);
void pl_pool_freed(struct pl_pool *pool, const void *block);

/*
 * A caller that makes many blocks asks this itself, before or after it has the block, and also for what is none of the
 * pool's: the countdown has no memory, so it may run out there, too. While samples are taken the answer is nearly
 * always true, and nothing else need be done. If it is false, pl_pool_met() decides, records the block, and sets the
 * next countdown.
 *
 * The countdown has 32 bits, so blocks from PL_POOL_LARGE on may pass where they should not: a pool that records such
 * blocks calls pl_pool_met() for them in any case.
 */
#define PL_POOL_LARGE (1u << 30)
INLINE bool pl_pool_passes(uint64_t bytes)
{
    return likely(!pl_arch_take_32(&pl_tls.pool_left, (uint32_t) bytes + PL_CALL_CHARGE));
}

/* After pl_pool_passes(), for the same `bytes`. `block` NULL: nothing is recorded. */
COLD void pl_pool_met(struct pl_pool *pool, const void *old, const void *block, uint64_t bytes,
                      const struct pl_start *start);

/* And most releases to this: false. */
INLINE uint8_t *pl_pool_mark_of(struct pl_process *process, uintptr_t address)
{
    return &process->heaps.marks[(address * 0x9e3779b97f4a7c15u) >> 50];
}
_Static_assert(PL_HEAP_MARKS == 1u << 14, "as many as 14 bits");

INLINE bool pl_pool_may_have(const void *block)
{
    return load_relaxed(pl_pool_mark_of(pl_process, (uintptr_t) block));
}

/* The pool has taken a chunk from another heap, or given it back. */
void pl_pool_took(struct pl_pool *pool, const void *chunk, uint64_t bytes);
void pl_pool_gave(struct pl_pool *pool, const void *chunk);

/* Their memory has been given back. */
void pl_pool_forget_all(void);

#endif
