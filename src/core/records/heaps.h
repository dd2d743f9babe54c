/* SPDX-License-Identifier: MIT */
/*
 * heaps.h - heaps beside malloc's: their records, and the ledgers that count what happens in them.
 *
 * A ledger is to such a heap what a tally is to malloc's: one thread's counts at one site. But blocks of these heaps
 * are few, so everything is counted, and one lock does what tallies do without one: any thread may change a ledger, and
 * nothing needs a record for other threads' frees.
 *
 * Who finds a ledger is in a visit; who changes one holds the lock.
 */
#ifndef PL_HEAPS_H
#define PL_HEAPS_H

#include "core/blocks/ranges.h"
#include "core/compiler.h"
#include "core/lock.h"
#include "format/format.h"

struct pl_process;
struct pl_thread;

struct pl_heaps {
    struct pl_lock lock;
    struct pl_ranges ranges;
    struct pl_range_list mapped; /* what the program has mapped */
};

/* The number of the calling thread's ledger for this stack, under its current tag; 0: there is no room. */
uint32_t pl_ledger_find(struct pl_process *process, struct pl_thread *thread, enum pl_heap_kind kind, uint32_t stack);

/* Books a block, or a piece of one that was allocated at `units`; `last`: the block has no other piece. */
void pl_ledger_allocated(struct pl_process *process, uint32_t ledger, uint64_t bytes, uint64_t now);
void pl_ledger_freed(struct pl_process *process, uint32_t ledger, uint64_t bytes, uint64_t units, bool last,
                     uint64_t now);

/* The block that was booked last took the place of one of so many bytes. */
void pl_ledger_moved(struct pl_process *process, uint32_t ledger, uint64_t bytes, bool moved);

#endif
