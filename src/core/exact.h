/* SPDX-License-Identifier: MIT */
/*
 * exact.h - every allocation and every free, counted.
 *
 * In exact mode a thread's countdown is 0, so that each allocation comes to the cold path; and each block it allocates
 * marks the free filter, so that its free comes too. What is done there is small: find the stack's tally (tallies.h),
 * add to it, remember the block in one word (blocks.h). Nobody else writes to what a thread writes here, except that a
 * thread that frees another's block adds atomically to a record beside the tally.
 *
 * An allocation has two halves, as in cold.h: pl_exact_due() before the real call, which also takes the call back until
 * there is a block; pl_exact_allocated() after it. A block is taken before its real free, and booked then or later.
 */
#ifndef PL_EXACT_H
#define PL_EXACT_H

#include "arch.h"
#include "filter.h"
#include "process.h"
#include "settings.h"

/* A signal handler may have allocated after the hot path had taken the charge of this call, and before we got here: its
 * calls did not run out of charge, and nobody has seen them. They are lost. How many they are is known from the
 * thread's record, which has kept step with all others. */
void pl_exact_unseen(struct pl_process *process, struct pl_thread *thread);

/* True when this call is to be counted, and all is there that it takes. Otherwise cold.h decides. */
INLINE bool pl_exact_due(enum pl_function function, uint64_t size)
{
    struct pl_tls *tls = &pl_tls;
    struct pl_thread *thread = pl_thread_mine(tls);
    if (unlikely(!thread || load_relaxed(&pl_process->counting) != thread->ticket || thread->busy ||
                 thread->countdown || !thread->tracker))
        return false;
    pl_add(&tls->calls[function], (uint64_t) -1);
    if (unlikely(pl_add_is_not_zero(&tls->charge_left, size + PL_CALL_CHARGE)))
        pl_exact_unseen(pl_process, thread);
    return true;
}

void pl_exact_allocated(enum pl_function function, uint64_t size, void *block, const struct pl_start *start);

/* A block that was taken out of the table. */
struct pl_taken {
    uint64_t word; /* as in blocks.h; 0: nothing was known of it */
    uint64_t size;
    uint64_t units; /* since it was allocated */
};

/* Takes what is known of a block that is about to be freed. False: nothing. */
bool pl_exact_take(void *block, struct pl_taken *taken);

/* It is gone; or it is still there, since the realloc failed. */
void pl_exact_freed(const void *block, const struct pl_taken *taken);
void pl_exact_restore(void *block, const struct pl_taken *taken);

/* Inside of a visit: the free of a block was missed, since its address was handed out again. */
void pl_exact_missed(struct pl_process *process, struct pl_thread *thread, const struct pl_taken *missed);

/* Takes and books, where nobody but exact mode can know of the block. False: others may. */
bool pl_exact_free(void *block);

/* The allocation just counted, at `block`, was a realloc of a block of `old_bytes`. */
void pl_exact_realloc(const void *block, uint64_t old_bytes, bool moved);

INLINE unsigned pl_size_bucket(uint64_t size)
{
    unsigned log2 = 63 - (unsigned) __builtin_clzll(size | 8);
    return log2 - 3 < PL_SIZE_BUCKETS ? log2 - 3 : PL_SIZE_BUCKETS - 1;
}

INLINE unsigned pl_life_bucket(uint64_t units)
{
    unsigned bits = 64 - (unsigned) __builtin_clzll(units | 1);
    bits = units ? bits : 0;
    return bits < PL_LIFE_BUCKETS ? bits : PL_LIFE_BUCKETS - 1;
}

#endif
