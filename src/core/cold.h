/* SPDX-License-Identifier: MIT */
/*
 * cold.h - the cold path: what a front end calls when the hot path has found that there may be something to do.
 *
 * None of it allocates, takes a lock, touches errno or uses more than 1 KiB of stack, caller's frames included. None of
 * it can fail: at worst it counts that it did nothing.
 *
 * A visit is marked in thread->busy by its stack pointer. A signal handler that allocates inside a visit is a nested
 * visit: it forwards, and its sample is counted as lost. A handler that leaves by longjmp says so (pl_cold_thrown). One
 * that leaves by other ways leaves `busy` behind; the next visit from a frame outside of the abandoned one knows it by
 * that.
 */
#ifndef PL_COLD_H
#define PL_COLD_H

#include <stdbool.h>
#include <stdint.h>

#include "exact.h"
#include "format.h"
#include "live.h"
#include "unwind.h"

/*
 * The countdown ran out in this allocation. A visit has two halves, with the real call in between.
 *
 * The first says what the allocation stands for, 0 if it is no sample, sets the next countdown, and takes the call
 * back: should the real one fail, or throw, or be left by longjmp, then it never was, and the thread is not deaf. The
 * second counts it, if there is a block, and writes down the sample. `start` is the caller.
 */
double pl_cold_due(enum pl_function function, uint64_t size);
void pl_cold_allocated(enum pl_function function, uint64_t size, void *block, double weight,
                       const struct pl_start *start);
#define PL_WEIGHT_EXACT (-1.0) /* of pl_cold_due: it is to be counted, not sampled, by pl_exact_allocated() */

/* A handler has put the thread's next visit off while one was under way. */
void pl_cold_wake(struct pl_process *process, struct pl_thread *thread);

/*
 * A visit for other reasons than an allocation. NULL: not now, since the thread is in the middle of one, or cannot be
 * recorded. pl_cold_obey(), in between: what is wanted of the thread has changed, and it is to act on it from now on.
 */
struct pl_thread *pl_cold_begin(struct pl_process *process, struct pl_tls *tls);
void pl_cold_obey(struct pl_process *process, struct pl_thread *thread);

/* The end of a visit that has left the floating-point environment alone. */
INLINE void pl_cold_end(struct pl_process *process, struct pl_thread *thread, struct pl_tls *tls)
{
    pl_thread_leave(thread, tls);
    if (unlikely(load_relaxed(&thread->slept)))
        pl_cold_wake(process, thread);
}

/* A visit to have everybody's figures in the file as they are now, as far as they can be had; and a moment of the
 * timeline, if wanted. False: there is no file. */
bool pl_cold_bring_up_to_date(struct pl_process *process, bool moment);

/* The thread is about to leave by longjmp, to this stack pointer: perhaps out of a visit, perhaps on the way to one,
 * when the countdown has run out and the next has not been set. */
void pl_cold_thrown(uintptr_t to);

/* What was known of a block: by exact mode, by sampling, or nothing. */
struct pl_known {
    struct pl_taken exact;    /* word 0: not by exact mode */
    struct pl_record sampled; /* row 0: not by sampling */
};

/* What the caller had asked for, as far as that is known. */
INLINE bool pl_known_size(const struct pl_known *known, size_t *size)
{
    *size = known->exact.word ? known->exact.size : known->sampled.size;
    return known->exact.word || known->sampled.row;
}

/* The filter says that something may be known of the block. Takes that out of the tables, before the real free or
 * realloc: afterwards the address may be somebody else's at once. False: nothing. */
bool pl_cold_take(void *block, struct pl_known *known);

/* The filter was wrong about the block: nothing is known of it. Sees to it that this does not happen too often. */
void pl_cold_unknown(const void *block);

/* The block is gone: books what pl_cold_take() gave. NULL: it was moved, not freed, and is no temporary. */
void pl_cold_freed(const void *block, const struct pl_known *known);

/* The block is still there (a realloc failed): puts back what was known of it. */
void pl_cold_restore(void *block, const struct pl_known *known);

/* The allocation just written down, at `block`, was a realloc of a block of `old_bytes`. */
void pl_cold_moved(void *block, uint64_t old_bytes, bool moved);

/* A call that the hot path counted turned out not to be an allocation: a failed or freeing realloc. */
void pl_cold_uncount(enum pl_function function, uint64_t size);

#endif
