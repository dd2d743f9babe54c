/* SPDX-License-Identifier: MIT */
/*
 * clock.h - the processor's clock, as long as it may be read.
 *
 * Strict seccomp, and PR_SET_TSC, make reading it a fault. From then on time stands still for us. Fork inherits that,
 * so the word is not wiped.
 */
#ifndef PL_CLOCK_H
#define PL_CLOCK_H

#include "arch.h"

#define PL_TICKS_AT_ONCE (1u << 16) /* some 25 us: two readings further apart are not of one moment */

extern HIDDEN uint64_t pl_clock_stopped; /* 0: it is running; otherwise when it was stopped */

INLINE uint64_t pl_clock(void)
{
    uint64_t stopped = load_relaxed(&pl_clock_stopped);
    return unlikely(stopped) ? stopped : pl_ticks();
}

INLINE void pl_clock_stop(void)
{
    if (!load_relaxed(&pl_clock_stopped))
        store_relaxed(&pl_clock_stopped, pl_ticks() | 1);
}

/* It was not stopped after all. */
INLINE void pl_clock_go_on(void)
{
    store_relaxed(&pl_clock_stopped, 0);
}

#endif
