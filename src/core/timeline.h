/* SPDX-License-Identifier: MIT */
/*
 * timeline.h - the heap over time: at most PL_MOMENTS moments of totals, and PL_SNAPSHOTS of who held what.
 *
 * Nobody's clock ticks here. Whoever visits the cold path and finds that a moment is due takes it; a program that
 * allocates nothing has nothing to tell. Time is counted in units (format.h) since the start, and a slot is
 * 2^timeline_shift of them: when all slots are used, they double in length and every second one is given up.
 *
 * Who may touch what: one thread at a time writes moments (`taking`); others that come meanwhile go on. A thread that
 * is thrown out by longjmp while it does, or dies, ends the timeline: nobody waits for it.
 */
#ifndef PL_TIMELINE_H
#define PL_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

struct pl_process;
struct pl_thread;

#define PL_TIMELINE_SHIFT_FIRST 11 /* some 3 ms: short programs have a timeline too, and it costs them little */

struct pl_timeline {
    uint64_t due;    /* units since the start: when to come for the next moment */
    uint32_t shift;  /* as in the header */
    uint32_t cohort; /* of blocks made now */
    uintptr_t taking;
    bool ready; /* moments are reserved */

    /* Of whoever is taking. */
    uint32_t snapshots;   /* reserved */
    uint64_t taken;       /* units: slots that begin before are taken, or passed over */
    uint64_t last_ns;     /* of the last moment: times ascend */
    uint64_t known_ticks; /* since the start, and the nanoseconds that they took: how long a tick is */
    uint64_t known_ns;
    void *sums; /* of sites, while they are being counted */
    uint64_t sums_bytes;
};

/* Units since the start of the process. */
uint64_t pl_timeline_now(const struct pl_process *process);

/* A moment is due: takes it. `now` in units. Also when the process ends (whatever is due), with `last` set. */
void pl_timeline_take(struct pl_process *process, uint64_t now, bool last);

/* The cohort of a block made at this time, when cohorts have this shift. */
INLINE uint32_t pl_timeline_cohort(uint64_t units, uint32_t shift)
{
    uint64_t cohort = units >> shift >> 5; /* PL_MOMENTS_PER_COHORT */
    return cohort > 7 ? 7 : (uint32_t) cohort;
}

#endif
