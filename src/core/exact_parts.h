/* SPDX-License-Identifier: MIT */
/* exact_parts.h - what the two versions of a visit of exact mode share: straight.c and exact.c. */
#ifndef PL_EXACT_PARTS_H
#define PL_EXACT_PARTS_H

#include "core/blocks/blocks.h"
#include "core/exact.h"
#include "core/process.h"
#include "core/records/sums.h"
#include "core/records/tallies.h"

/* Units since the start of the process. */
INLINE uint64_t pl_exact_units(const struct pl_process *process, uint64_t ticks)
{
    return (ticks - process->start_ticks) >> PL_UNIT_SHIFT;
}

/* When the block in a slot with this word was allocated, in units. */
INLINE uint64_t pl_exact_made(uint64_t word)
{
    return pl_block_time_units(word >> PL_BLOCK_TIME_SHIFT & PL_BLOCK_TIME_MASK);
}

/* One comparison in each visit serves the timeline and the control words. */
INLINE bool pl_exact_is_alarmed(const struct pl_process *process, uint64_t now)
{
    return now >= load_relaxed(&process->alarm);
}

INLINE void pl_exact_count_size(struct pl_bucket *buckets, uint64_t size)
{
    struct pl_bucket *bucket = &buckets[pl_sums_size_bucket(size)];
    bucket->blocks++;
    bucket->bytes += size;
}

/* A signal handler may count at any moment, so each addition is one instruction. */
INLINE void pl_exact_count_request(struct pl_tls *tls, enum pl_function function, uint64_t size)
{
    pl_arch_add(&tls->calls[function], 1);
    pl_arch_add(&tls->charge_aside, size + PL_CALL_CHARGE);
}

/* The same, also in the thread's record. */
INLINE void pl_exact_count(struct pl_tls *tls, struct pl_thread_record *record, enum pl_function function,
                           uint64_t size)
{
    pl_exact_count_request(tls, function, size);
    pl_thread_step(record, function, size);
}

/* The place of the tally or small record that a block of this size is counted in; 0: there is no room. */
INLINE uint32_t pl_exact_place(struct pl_process *process, struct pl_thread *thread, struct pl_tracker *tracker,
                               const struct pl_start *start, uint64_t size)
{
    return likely(size - thread->size_from <= thread->size_span) ? pl_tally_find(process, thread, tracker, start)
                                                                 : pl_tally_other(process, thread);
}

/* One visit less until the thread's next timed one. True: it is this one. */
INLINE bool pl_exact_is_timed(struct pl_thread *thread)
{
    return unlikely(--thread->untimed < 0);
}

/* ---- exact.c: what leaves the straight line ---- */

/* The thread was not ready: settings have changed during the real call, or a signal handler has forked. */
void pl_exact_allocated_late(enum pl_function function, uint64_t size, void *block, const struct pl_start *start);

/* The rest of a visit that began at `began`, in every case: books the block in the record at this place. */
void pl_exact_allocated_otherwise(struct pl_thread *thread, void *block, uint32_t place, uint64_t size, uint64_t began);

/* In a child that a signal handler has forked at the beginning of the visit: the call is counted, and that is all. */
void pl_exact_leave_forked(enum pl_function function, uint64_t size);

/* A free that was taken out of the table, in every case. */
void pl_exact_freed_otherwise(const void *block, const struct pl_taken *taken, uint64_t began);

/* Ends a visit that is timed, or that a nested visit has interrupted. */
void pl_exact_leave_timed(struct pl_thread *thread, uint64_t began);

#endif
