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

/* The thread is about to leave by longjmp, to this stack pointer: perhaps out of a visit, perhaps on the way to one,
 * when the countdown has run out and the next has not been set. */
void pl_cold_thrown(uintptr_t to);

/* The filter says that the block may be sampled. Takes its record out of the live table, before the real free or
 * realloc: afterwards the address may be somebody else's at once. */
bool pl_cold_take(void *block, struct pl_record *record);

/* The block is gone: books what pl_cold_take() gave. */
void pl_cold_freed(const struct pl_record *record);

/* The block is still there (a realloc failed): puts its record back. */
void pl_cold_restore(void *block, const struct pl_record *record);

/* A call that the hot path counted turned out not to be an allocation: a failed or freeing realloc. */
void pl_cold_uncount(enum pl_function function, uint64_t size);

#endif
