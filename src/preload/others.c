/* SPDX-License-Identifier: MIT */
/*
 * others.c - the slow halves of functions that only some allocators have: see entries.h, and slow.c for the others.
 *
 * Built with frame pointers: PL_START_HERE reads the caller from the frame.
 */
#include "core/arch.h"
#include "core/visit.h"
#include "preload/entries.h"
#include "preload/hooks.h"

#define ENTRY PL_ARCH_ENTRY OUT_OF_LINE

ENTRY void *pl_slow_allocate(pl_other_function *real, unsigned counted_as, size_t bytes, uintptr_t a, uintptr_t b,
                             uintptr_t c)
{
    struct pl_start start;
    PL_START_HERE(&start);
    struct pl_cold_plan plan = pl_visit_due(counted_as, bytes);
    void *block = pl_entries_call(real, a, b, c); /* may throw */
    pl_visit_allocated(counted_as, bytes, block, plan, &start);
    return block;
}

ENTRY void *pl_slow_release(pl_other_function *real, uintptr_t block, uintptr_t b, uintptr_t c)
{
    if (likely(pl_visit_is_counted((void *) block)))
        pl_exact_free((void *) block);
    else
        pl_visit_freeing((void *) block);
    return pl_entries_call(real, block, b, c);
}

/* As pl_slow_realloc(). */
ENTRY void *pl_slow_move(pl_other_function *real, size_t bytes, uintptr_t block, uintptr_t b, uintptr_t c)
{
    struct pl_cold_plan plan = {PL_COLD_SKIPPED, 0};
    struct pl_cold_known known;
    struct pl_start start;
    void *old = (void *) block;
    bool due = HOT_CHARGE(PL_FN_REALLOC, bytes);
    if (due)
        plan = pl_visit_due(PL_FN_REALLOC, bytes);
    bool taken = old && pl_cold_take(old, &known);
    size_t before = !old || plan.how == PL_COLD_SKIPPED ? 0
                    : taken                             ? pl_cold_known_size(&known)
                                                        : pl_entries_usable_bytes(old);
    void *moved = pl_entries_call(real, block, b, c);
    if (taken)
        pl_visit_realloc_old(old, &known, pl_visit_realloc_failed(moved, bytes));
    PL_START_HERE(&start);
    pl_visit_realloc_new(old, before, moved, bytes, due, plan, &start);
    return moved;
}
