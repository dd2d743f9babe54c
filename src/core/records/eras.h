/* SPDX-License-Identifier: MIT */
/*
 * eras.h - the contents of the heap at its peak, and the ages of blocks, without ever scanning all records.
 *
 * The live total is updated in batches. Each thread has a headroom: how many more bytes may become live before there is
 * a new peak, as far as the thread knows. It tells (adds its changes to the process's totals) when the headroom has
 * moved by a batch: a 32nd of the peak, between PL_BATCH_LEAST and PL_BATCH_BYTES. A free that finds the headroom below
 * 0 first declares a peak, which begins a new era. With one thread, the headroom is exact, and so is the peak.
 *
 *   worked: peak 100, live 90, headroom 10. malloc(30): headroom -20. free of 5: headroom is below 0, so first a peak
 *   of 120 is declared, and headroom is 0; then the free makes it 5.
 *
 * Before a tally, row or remote record of an older era is changed, it catches up: it saves the figures that it had at
 * the peak, if there was one since, and adds its new counts to its cohort (format.h). So a new peak costs nothing by
 * itself, and every record that changes after it pays for a few stores, once.
 */
#ifndef PL_ERAS_H
#define PL_ERAS_H

#include "core/process.h"
#include "format/settings.h"

/* Adds what the thread has allocated and freed since it last told to the process's totals. */
void pl_era_tell(struct pl_process *process, struct pl_thread *thread);

/* After a reset: discards the live figures that the thread has not told yet, because they are from before. */
void pl_era_forget(struct pl_process *process, struct pl_thread *thread);

/* Before a free, if the headroom is below 0 or this free would complete a batch: declares a peak, if it is one. */
void pl_era_peak(struct pl_process *process, struct pl_thread *thread);

/* What is live, as far as the thread knows. */
INLINE int64_t pl_era_live(const struct pl_process *process, const struct pl_thread *thread)
{
    return (int64_t) load_relaxed(&process->totals.live_bytes) + thread->headroom_told - thread->headroom;
}

/* A free that has no thread's figures to go to: changes the process's totals directly. */
void pl_era_shrank(struct pl_process *process, int64_t bytes, int64_t objects);

INLINE void pl_era_grows(struct pl_process *process, struct pl_thread *thread, int64_t bytes, int64_t objects)
{
    thread->headroom -= bytes;
    thread->objects += objects;
    if (unlikely(thread->headroom < thread->headroom_low))
        pl_era_tell(process, thread);
}

/* To be called before a record's freed figures change: they may belong to a peak that is declared here. */
INLINE void pl_era_shrinks(struct pl_process *process, struct pl_thread *thread, int64_t bytes, int64_t objects)
{
    if (unlikely(thread->headroom < 0 || bytes > thread->headroom_high - thread->headroom))
        pl_era_peak(process, thread);
    thread->headroom += bytes;
    thread->objects -= objects;
    if (unlikely(thread->headroom > thread->headroom_high))
        pl_era_tell(process, thread);
}

/* Is `era` older than `other`? Eras wrap around. */
INLINE bool pl_era_before(uint32_t era, uint32_t other)
{
    return (int32_t) (era - other) < 0;
}

/* Each lets one side of a record catch up. To be called by a thread that may write to that side. */
void pl_era_allocated(struct pl_process *process, struct pl_tally *tally);
void pl_era_freed(struct pl_process *process, struct pl_tally *tally);
void pl_era_remote(struct pl_process *process, struct pl_remote *remote);
void pl_era_row(struct pl_process *process, struct pl_row *row);
void pl_era_row_remote(struct pl_process *process, struct pl_row *row);

#endif
