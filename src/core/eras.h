/* SPDX-License-Identifier: MIT */
/*
 * eras.h - what the heap held when it was largest, and what is how old, without ever looking at all of it.
 *
 * The live total is kept in batches: each thread has a headroom, how many more bytes may be live before it is a new
 * peak, as far as the thread knows, and tells the others when it has moved by its batch: a 32nd of the peak, up to
 * PL_BATCH_BYTES. A free that finds its headroom overdrawn first declares a peak: that begins an era. With one thread
 * the headroom is exact, so is the peak.
 *
 *   worked: peak 100, live 90, headroom 10. malloc(30): headroom -20. free of 5: overdrawn, so the peak is 120, at this
 *   very moment; headroom 0, then 5.
 *
 * A tally, row or remote record whose own era is older than the current one catches up before it is changed: it saves
 * the figures that it had at the peak, if there was one since, and closes the books of its cohort (format.h). So a new
 * peak costs nothing by itself, and each record that changes after it a few stores, once.
 */
#ifndef PL_ERAS_H
#define PL_ERAS_H

#include "process.h"
#include "settings.h"

/* The thread's live figures since it last told; and what it has told of its calls. */
void pl_live_tell(struct pl_process *process, struct pl_thread *thread);

/* Figures have begun anew: what the thread has not told is of before. */
void pl_live_forget(struct pl_process *process, struct pl_thread *thread);

/* The headroom is overdrawn, and something is about to be freed. */
void pl_live_peak(struct pl_process *process, struct pl_thread *thread);

/* A free without a thread to book it to. */
void pl_live_shrank(struct pl_process *process, int64_t bytes, int64_t objects);

INLINE void pl_live_grows(struct pl_process *process, struct pl_thread *thread, int64_t bytes, int64_t objects)
{
    thread->headroom -= bytes;
    thread->objects += objects;
    if (unlikely(thread->headroom < thread->headroom_low))
        pl_live_tell(process, thread);
}

/* Before the figures of what is freed are changed, since they may be those of a peak. */
INLINE void pl_live_shrinks(struct pl_process *process, struct pl_thread *thread, int64_t bytes, int64_t objects)
{
    if (unlikely(thread->headroom < 0 || bytes > thread->headroom_high - thread->headroom))
        pl_live_peak(process, thread);
    thread->headroom += bytes;
    thread->objects -= objects;
    if (unlikely(thread->headroom > thread->headroom_high))
        pl_live_tell(process, thread);
}

/* Has a record of this era something to save? Numbers of eras may go round. */
INLINE bool pl_era_before(uint32_t era, uint32_t other)
{
    return (int32_t) (era - other) < 0;
}

/* Each for one side of a record, called by whoever may write to it. */
void pl_era_allocated(struct pl_process *process, struct pl_tally *tally);
void pl_era_freed(struct pl_process *process, struct pl_tally *tally);
void pl_era_remote(struct pl_process *process, struct pl_remote *remote);
void pl_era_row(struct pl_process *process, struct pl_row *row);
void pl_era_row_remote(struct pl_process *process, struct pl_row *row);

#endif
