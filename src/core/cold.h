/* SPDX-License-Identifier: MIT */
/*
 * cold.h - the cold path: records what exact mode (exact.h) does not. Front ends call it through visit.h.
 *
 * No function here allocates, takes a lock, touches errno or uses more than 1 KiB of stack, with the callers' frames
 * (a realloc: 48 bytes more, see tests/layers/stack.py).
 * None can fail: at worst it counts a loss.
 *
 * A visit is one pass through the cold path. While it lasts, thread->busy holds its stack pointer. If a signal handler
 * allocates inside a visit, that is a nested visit: the call is forwarded to the real function, and a sample is counted
 * as lost. If a handler leaves a visit by longjmp, pl_cold_thrown() is told and clears `busy`. If it leaves in another
 * way, `busy` stays set: a later visit from a frame further out sees that the old one was abandoned.
 */
#ifndef PL_COLD_H
#define PL_COLD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/blocks/live.h"
#include "core/exact.h"
#include "core/unwind/unwind.h"
#include "format/format.h"

/* How an allocation is recorded: not at all; counted exactly, by pl_exact_allocated(); or as a sample, which stands for
 * `weight` allocations like it. */
enum pl_cold_how { PL_COLD_SKIPPED, PL_COLD_COUNTED, PL_COLD_SAMPLED };
struct pl_cold_plan {
    enum pl_cold_how how;
    double weight; /* of a sample; otherwise 0 */
};

/*
 * The countdown ran out in this allocation. A visit has two halves, with the real call in between.
 *
 * pl_cold_due() says how the allocation is recorded. It sets the next countdown and undoes the hot path's counting of
 * this call. So if the real call fails, throws, or is left by longjmp, the call was never
 * counted and the thread still has a valid countdown. pl_cold_allocated() counts the call, if there is a block, and
 * records the sample. `start` is where the unwind begins: the caller of the allocation function.
 */
struct pl_cold_plan pl_cold_due(enum pl_function function, uint64_t size);
void pl_cold_allocated(enum pl_function function, uint64_t size, void *block, struct pl_cold_plan plan,
                       const struct pl_start *start);

/* At the end of a visit: a nested visit has postponed the thread's next one (thread->slept), so set a new countdown. */
void pl_cold_wake(struct pl_process *process, struct pl_thread *thread);

/*
 * Begins a visit that is not an allocation. NULL: the thread is in a visit already, or cannot be recorded.
 * pl_cold_obey(), inside of a visit: control words or the thread's pause have changed; applies them to this thread now.
 */
struct pl_thread *pl_cold_begin(struct pl_process *process, struct pl_tls *tls);
void pl_cold_obey(struct pl_process *process, struct pl_thread *thread);

/* Settings have changed: the calling thread's next allocation is a visit, which applies them. */
void pl_cold_hurry(struct pl_tls *tls);

/* Ends a visit that has not changed the floating-point environment. */
INLINE void pl_cold_end(struct pl_process *process, struct pl_thread *thread, struct pl_tls *tls)
{
    pl_thread_leave(thread, tls);
    if (unlikely(load_relaxed(&thread->slept)))
        pl_cold_wake(process, thread);
}

/* Writes the current figures of all threads to the file, as far as they can be read, and a moment of the timeline if
 * `moment` is set. False: there is no file. */
bool pl_cold_bring_up_to_date(struct pl_process *process, bool moment);

/* The thread is about to longjmp to this stack pointer. It may be inside a visit, or on its way to one: the countdown
 * has run out and the next one has not been set. */
void pl_cold_thrown(uintptr_t to);

/* What the tables had about a block: an entry of exact mode, a sample, both or nothing. */
struct pl_cold_known {
    struct pl_taken exact;    /* word 0: not known to exact mode */
    struct pl_record sampled; /* row 0: not sampled */
};

/* The size that the caller had requested, if a table had the block. */
INLINE uint64_t pl_cold_known_size(const struct pl_cold_known *known)
{
    return known->exact.word ? known->exact.size : known->sampled.size;
}

/* The filter says that a table may know the block: removes its entries. This must happen before the real free or
 * realloc, because right after it another thread may get the same address. False: no table knew the block. */
bool pl_cold_take(void *block, struct pl_cold_known *known);

/* No table knew the block: a false hit of the filter. Removes the cause, if exact mode's mark is no longer needed. */
void pl_cold_unknown(const void *block);

/* Before the real free of a block that a table may know: removes its entries and books the free. */
void pl_cold_free(void *block);

/* The block was freed: books what pl_cold_take() returned. NULL: a realloc moved it, so it is not a temporary. */
void pl_cold_freed(const void *block, const struct pl_cold_known *known);

/* The block still exists (a realloc failed): puts its entries back. */
void pl_cold_restore(void *block, const struct pl_cold_known *known);

/* The allocation just recorded, at `block`, was a realloc of a block of `old_bytes`. */
void pl_cold_moved(void *block, uint64_t old_bytes, bool moved);

/* Undoes the counting of a call that was not an allocation: a realloc that failed or freed. */
void pl_cold_uncount(enum pl_function function, uint64_t size);

#endif
