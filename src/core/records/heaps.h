/* SPDX-License-Identifier: MIT */
/*
 * heaps.h - heaps beside malloc's: their records, and the ledgers that count what happens in them.
 *
 * A ledger is to such a heap what a tally and a row are to malloc's: what one thread allocated at one site. But these
 * heaps are used less, so one lock does what tallies do without one: any thread may change a ledger, and nothing needs
 * a record for other threads' frees.
 *
 * Who finds a heap or a ledger is in a visit; who changes one holds the lock.
 */
#ifndef PL_HEAPS_H
#define PL_HEAPS_H

#include "core/blocks/ranges.h"
#include "core/compiler.h"
#include "core/lock.h"
#include "format/format.h"

struct pl_process;
struct pl_thread;
struct pl_tag_name;

#define PL_HEAP_MARKS 16384u

struct pl_heaps {
    struct pl_lock lock;
    struct pl_ranges ranges;
    struct pl_range_list mapped;  /* what the program has mapped */
    uint8_t marks[PL_HEAP_MARKS]; /* pools.c: how many recorded blocks have this hash; UINT8_MAX: that or more */
};

/* The number of a heap's record, which is made if it is missing; 0: there is no room. `name` is NULL unless the heap is
 * a named one. */
uint32_t pl_heap_find(struct pl_process *process, enum pl_heap_kind kind, const struct pl_tag_name *name);

/* With the lock: the heap has taken a chunk from another heap, or given it back. */
void pl_heap_holds(struct pl_process *process, uint32_t heap, int64_t bytes);

/* The number of the calling thread's ledger for this stack, under its current tag; 0: there is no room. */
uint32_t pl_ledger_find(struct pl_process *process, struct pl_thread *thread, uint32_t heap, uint32_t stack);

/* A block, or a piece of one that was allocated at `units`; `last`: the block has no other piece. With a weight it is a
 * sample, which is one piece; without, it is counted. Samples need floating point (pl_arch_fp_enter). */
struct pl_ledger_entry {
    uint32_t ledger;
    float weight;
    uint64_t bytes;
    uint64_t units;
    bool last;
};
void pl_ledger_allocated(struct pl_process *process, const struct pl_ledger_entry *entry);
void pl_ledger_freed(struct pl_process *process, const struct pl_ledger_entry *entry, uint64_t now);

/* The block that was booked last took the place of one; so many bytes were the contents of both. */
void pl_ledger_moved(struct pl_process *process, uint32_t ledger, float weight, uint64_t bytes, bool moved);

#endif
