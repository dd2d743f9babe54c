/* SPDX-License-Identifier: MIT */
/*
 * visit.h - what a front end does around the real call when the hot path finds that there may be something to record.
 *
 * The front ends are preload/slow.c and glibc's malloc. These functions pass each call on to exact.c or to cold.c.
 *
 * The order is the same everywhere. An allocation is recorded after the real call and before its address is returned. A
 * record is removed before the real free or realloc, because right after it another thread may get the same address. It
 * is put back if the real call (a realloc) has failed.
 *
 * Each function asks exact mode first: while it is on, it knows nearly every block.
 */
#ifndef PL_VISIT_H
#define PL_VISIT_H

#include "core/clock.h"
#include "core/cold.h"
#include "core/exact.h"
#include "core/probe.h"

/* ---- allocations ---- */

/* Before the real call: how the allocation will be recorded. */
INLINE struct pl_cold_plan pl_visit_due(enum pl_function function, uint64_t size)
{
    return likely(pl_exact_due(function, size)) ? (struct pl_cold_plan){PL_COLD_COUNTED, 0}
                                                : pl_cold_due(function, size);
}

/* After the real call. */
INLINE void pl_visit_allocated(enum pl_function function, uint64_t size, void *block, struct pl_cold_plan plan,
                               const struct pl_start *start)
{
    if (likely(plan.how == PL_COLD_COUNTED)) {
        if (unlikely(block == NULL))
            return;
        if (pl_probe_is_heard()) /* first: what is needed after a call takes the program's stack */
            pl_probe_counted(size, block);
        pl_exact_allocated(function, size, block, start);
    } else {
        pl_cold_allocated(function, size, block, plan, start);
    }
}

/* ---- frees ---- */

/* Does the filter say that only exact mode may know this block, and with no mask? While exact mode is on, nearly
 * always.
 */
INLINE bool pl_visit_is_counted(const void *block)
{
    return load_relaxed(pl_filter_byte(block)) == PL_FILTER_EXACT;
}

/* Does the block only lie near samples? Then this has counted what it costs to find that out, and nothing else is to be
 * done. Now and then false although it does, so that pl_cold_free() books these costs. Calls nothing, so that it needs
 * no frame. */
INLINE bool pl_visit_excludes(const void *block)
{
    struct pl_tls *tls = &pl_tls;
    bool alone = pl_filter_excludes(block);
    if (!alone && (!pl_filter_is_sampled(load_relaxed(pl_filter_byte(block))) ||
                   pl_live_knows(&pl_process->live, (uintptr_t) block)))
        return false;
    uint32_t ticks = tls->missed_ticks + (alone ? PL_BUDGET_MISS : PL_BUDGET_MISS_SEARCH);
    if (ticks >= PL_BUDGET_MISSED_MOST)
        return false;
    tls->missed_ticks = ticks;
    return true;
}

/* Before the real free of a block that may be recorded: removes its records and books the free. */
INLINE void pl_visit_freeing(void *block)
{
    uint8_t byte = load_relaxed(pl_filter_byte(block));
    if (likely(byte == PL_FILTER_EXACT))
        pl_exact_free(block);
    else if (unlikely(!pl_filter_is_only_exact(byte)))
        pl_cold_free(block);
    else if (!pl_exact_excludes(block, byte)) /* without a call: after auto mode has counted, this is often true */
        pl_exact_free_otherwise(block, pl_clock());
}

/* ---- realloc: pl_visit_due() and pl_cold_take() before the real call, these two after it ---- */

/* In glibc realloc(p, 0) frees and returns NULL: that is not a failure, and not an allocation either. */
INLINE bool pl_visit_realloc_failed(const void *block, uint64_t size)
{
    return !block && size;
}

/* The old block, which was recorded as `known` says: books that it is gone; or puts its records back, if the realloc
 * has failed. */
INLINE void pl_visit_realloc_old(void *old, const struct pl_cold_known *known, bool failed)
{
    if (failed)
        pl_cold_restore(old, known);
    else
        pl_cold_freed(NULL, known); /* NULL: not a temporary, because its contents live on */
}

/* The new block. `due`: the countdown has run out in this call; then `plan` is that of pl_visit_due(), otherwise it
 * skips it. `old` is NULL if there was no old block. */
INLINE void pl_visit_realloc_new(void *old, uint64_t old_size, void *block, uint64_t size, bool due,
                                 struct pl_cold_plan plan, const struct pl_start *start)
{
    if (due)
        pl_visit_allocated(PL_FN_REALLOC, size, block, plan, start);
    else if (!block)
        pl_cold_uncount(PL_FN_REALLOC, size);
    if (block && old && plan.how != PL_COLD_SKIPPED)
        pl_cold_moved(block, old_size, block != old);
}

#endif
