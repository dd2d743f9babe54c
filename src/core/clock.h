/* SPDX-License-Identifier: MIT */
/*
 * clock.h - reads the processor's clock (the time stamp counter) as long as that is allowed.
 *
 * After strict seccomp or PR_SET_TSC, reading it faults. From then on pl_clock() returns the time at which it was
 * stopped. A forked child inherits the restriction, so fork does not wipe this word.
 */
#ifndef PL_CLOCK_H
#define PL_CLOCK_H

#include "core/arch.h"

#define PL_TICKS_AT_ONCE (1u << 16) /* some 25 us: two clocks that were read further apart do not belong together */

extern HIDDEN uint64_t pl_clock_stopped; /* 0: it is running; otherwise the ticks when it was stopped */

INLINE uint64_t pl_clock(void)
{
    uint64_t stopped = load_relaxed(&pl_clock_stopped);
    return unlikely(stopped) ? stopped : pl_arch_ticks();
}

/* The end of something that is timed. Without waiting, a cache miss of the cold path would delay the program after the
 * second reading, and seem to be the program's. */
INLINE uint64_t pl_clock_after(void)
{
    pl_arch_finish();
    return pl_clock();
}

INLINE void pl_clock_stop(void)
{
    if (!load_relaxed(&pl_clock_stopped))
        store_relaxed(&pl_clock_stopped, pl_arch_ticks() | 1);
}

/* The kernel refused the restriction: the clock may still be read. */
INLINE void pl_clock_go_on(void)
{
    store_relaxed(&pl_clock_stopped, 0);
}

#endif
