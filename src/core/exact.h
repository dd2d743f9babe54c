/* SPDX-License-Identifier: MIT */
/*
 * exact.h - exact mode: counts every allocation and every free.
 *
 * In exact mode a thread's countdown is 0, so every allocation takes the cold path. Every block marks the free filter,
 * so its free takes the cold path too. An allocation finds the stack's tally (tallies.h), adds to it, and stores one
 * word for the block (blocks.h). Only the owning thread writes to its tallies; a thread that frees another thread's
 * block adds to a separate record that belongs to the tally (struct pl_remote): atomically, or to one of its own
 * (foreign.h).
 *
 * An allocation has two halves, as in cold.h: pl_exact_due() before the real call, which also undoes the hot path's
 * counting of the call until there is a block, and pl_exact_allocated() after it. For a free, the block's word is taken
 * out of the table before the real call; the free may be booked then or later.
 */
#ifndef PL_EXACT_H
#define PL_EXACT_H

#include "core/arch.h"
#include "core/blocks/filter.h"
#include "core/process.h"
#include "format/settings.h"

/* When the hot path subtracts the charge of a call, charge_left falls below 0 and wraps to a huge number. If a signal
 * handler allocates before we get here, its calls do not borrow, so nobody sees them: they are lost. The thread's
 * record has all other calls, so the difference to the thread's counters is the number of lost calls, which is added to
 * the losses. */
void pl_exact_unseen(void);

/* Is every allocation counted, and the calling thread outside of visits, with everything that it needs for that? See
 * PL_TICKET_OF. */
INLINE bool pl_exact_is_ready(const struct pl_tls *tls)
{
    return likely(tls->ticket == PL_TICKET_OF(load_relaxed(&pl_process->counting)));
}

/* True if this call is to be counted exactly and everything is ready for that. Otherwise pl_cold_due() decides. */
INLINE bool pl_exact_due(enum pl_function function, uint64_t size)
{
    struct pl_tls *tls = &pl_tls;
    if (!pl_exact_is_ready(tls))
        return false;
    pl_arch_add(&tls->calls[function], (uint64_t) -1);
    if (unlikely(pl_arch_add_is_not_zero(&tls->charge_left, size + PL_CALL_CHARGE)))
        pl_exact_unseen();
    return true;
}

void pl_exact_allocated(enum pl_function function, uint64_t size, void *block, const struct pl_start *start);

/* What the table had about a block that was taken out of it. */
struct pl_taken {
    uint64_t word; /* as in blocks.h; 0: the table did not have the block */
    uint64_t size;
    uint64_t units; /* since it was allocated */
};

/* Takes a block that is about to be freed out of the table. False: it was not there. */
bool pl_exact_take(void *block, struct pl_taken *taken);

/* Books the free (`block` is NULL if a realloc has moved it); or puts the block back, because a realloc failed. */
void pl_exact_freed(const void *block, const struct pl_taken *taken);
void pl_exact_restore(void *block, const struct pl_taken *taken);

/* For a free, with the filter's byte: true if that says that only exact mode may have blocks here, and the mask says
 * that this is not one. */
INLINE bool pl_exact_excludes(const void *block, uint8_t byte)
{
    struct pl_process *process = pl_process;
    if (byte != PL_FILTER_MASKED || pl_block_may_be_left(&process->blocks, (uintptr_t) block))
        return false;
    pl_process_missed(process, PL_BUDGET_MISS);
    return true;
}

/* Inside of a visit: the address of a block was allocated again, so we have missed its free. Books the free now. */
void pl_exact_missed(struct pl_process *process, struct pl_thread *thread, const struct pl_taken *missed);

/* Takes the block and books its free. The filter says PL_FILTER_EXACT, or in the second case also PL_FILTER_MASKED. The
 * visit began at `began`. */
void pl_exact_free(void *block);
void pl_exact_free_otherwise(void *block, uint64_t began);

/* The allocation just counted, at `block`, was a realloc of a block of `old_bytes`. */
void pl_exact_realloc(const void *block, uint64_t old_bytes, bool moved);

#endif
