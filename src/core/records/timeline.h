/* SPDX-License-Identifier: MIT */
/*
 * timeline.h - the heap over time: at most PL_MOMENTS moments (totals) and PL_COMPOSITIONS heap compositions (which
 * sites held the heap; struct pl_composition_record).
 *
 * There is no timer. A thread that visits the cold path and finds a moment due takes it; a program that does not
 * allocate gets no moments. Time is counted in units (format.h) since the start, and a slot lasts 2^timeline_shift
 * units. When all slots are used, slots double in length and every second record is dropped.
 *
 * Who may touch what: one thread at a time writes moments (`taking`); other threads do not wait for it. If that thread
 * dies, the timeline ends. If it leaves by longjmp, only this thread can take the next moment.
 */
#ifndef PL_TIMELINE_H
#define PL_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

struct pl_process;
struct pl_thread;

#define PL_TIMELINE_SHIFT_FIRST 11 /* some 3 ms: so that short programs have a timeline too, at little cost */

struct pl_timeline {
    uint64_t due;     /* units since the start: when the next moment is due */
    uint64_t begun;   /* likewise: when the cohort began */
    uint32_t shift;   /* as timeline_shift in the header */
    uint32_t cohort;  /* of blocks allocated now */
    uintptr_t taking; /* thread pointer of the thread that is taking a moment; 0: none */
    bool ready;       /* the first cohort has begun */

    /* The fields below belong to the thread that is taking. */
    uint32_t moments;      /* records reserved so far */
    uint32_t compositions; /* likewise, of heap compositions */
    uint64_t taken;        /* units: all slots that begin earlier are used or skipped */
    uint64_t last_ns;      /* time of the last moment: times must ascend */
    uint64_t known_ticks;  /* ticks since the start, and the nanoseconds they took: the length of a tick */
    uint64_t known_ns;
    void *sums; /* by site, while a heap composition is made */
    uint64_t sums_bytes;
};

/* Units since the start of the process. */
uint64_t pl_timeline_now(const struct pl_process *process);

/* Before a block is counted, if a moment is due: begins the cohort of `now`, so that a block that follows a long pause
 * does not count as one from before the pause. The moment itself is taken after the block was counted. */
void pl_timeline_turn(struct pl_process *process, uint64_t now);

/* Takes a moment, if one is due at `now`, in units. `last`: even if none is due, at the end or before a copy. */
void pl_timeline_take(struct pl_process *process, uint64_t now, bool last);

/* The cohort of a block allocated at this time, if cohorts have this shift. */
#define PL_TIMELINE_COHORT_BITS 5 /* 2^5 moments: PL_MOMENTS_PER_COHORT */
INLINE uint32_t pl_timeline_cohort(uint64_t units, uint32_t shift)
{
    uint64_t cohort = units >> shift >> PL_TIMELINE_COHORT_BITS;
    return cohort > 7 ? 7 : (uint32_t) cohort;
}

#endif
