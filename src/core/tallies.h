/* SPDX-License-Identifier: MIT */
/*
 * tallies.h - from the stack at a malloc to the tally that counts it, in exact mode.
 *
 * A thread keeps what it needs for that in a tracker: the differential unwinder's memory (trace.h), which turns a stack
 * into a hash, and a table from hashes to tallies. Each entry remembers the entry that followed it last time. Programs
 * repeat themselves, so that guess is right four times out of five, and the tally's cache line is on its way before the
 * stack has been looked at.
 *
 *   hash ──► struct pl_seen { hash, tally, next }      a tally is named by its place in the file / 64
 *
 * A hash that is new is resolved the long way: a plain walk, the stack's number in the trie, and a process-wide map
 * from (thread, stack, tag, volume) to the tally. So two hashes of one stack (a plain walk's and a trace's) lead to one
 * tally. The volume grows when a tally's 32-bit counters might overflow, and when figures begin anew: from then on the
 * thread has new tallies. A tag makes stacks different by its salt.
 *
 * Fork does not wipe a tracker: a handler may fork in the middle of a visit, and the child goes on with it. Nobody else
 * in the child knows of it.
 */
#ifndef PL_TALLIES_H
#define PL_TALLIES_H

#include "process.h"
#include "stacks.h"
#include "trace.h"

struct pl_seen {
    uint64_t hash; /* 0: empty */
    uint32_t tally;
    uint32_t next; /* index of the entry that was wanted after this one */
};

#define PL_SEEN_FIRST_LOG2 9

struct pl_tracker {
    struct pl_seen *seen;
    uint32_t shift; /* 64 - log2 of the number of entries */
    uint32_t used;
    uint32_t last;      /* index of the entry of the last allocation */
    uint32_t predicted; /* and of the one that is expected to follow */
    uint64_t reserved[4];
    struct pl_seen first[1u << PL_SEEN_FIRST_LOG2]; /* the table, until it grows */
    struct pl_trace *trace;
    struct pl_stack_memory stack;
};

/* Gives the thread a tracker, if it has none. False: no memory, or no record to book to. */
bool pl_tracker_ready(struct pl_process *process, struct pl_thread *thread);

/* The thread's block has a new owner. */
void pl_tracker_forget(struct pl_thread *thread);

INLINE struct pl_tally *pl_tally_at(uint64_t place)
{
    return (struct pl_tally *) (void *) (pl_file_base + place * 64);
}

/* The place of the tally for this stack. 0: it cannot be counted, and that is noted. */
uint32_t pl_tally_find(struct pl_process *process, struct pl_thread *thread, struct pl_tracker *tracker,
                       const struct pl_start *start);

/* The same for allocations of other sizes than are wanted: no stack is looked at. */
uint32_t pl_tally_other(struct pl_process *process, struct pl_thread *thread);

/* Before the search, and before anything slow: fetches what will probably be wanted. */
INLINE void pl_tally_prefetch(const struct pl_tracker *tracker)
{
    __builtin_prefetch(pl_tally_at(tracker->seen[tracker->predicted].tally), 1);
}

/* Its counters are nearly full: from now on the thread writes to new tallies. */
void pl_tally_next_volume(struct pl_thread *thread);

/* The record of other threads' frees of this tally's blocks; NULL when there is no room. */
struct pl_remote *pl_tally_remote(struct pl_process *process, struct pl_tally *tally);

/* The thread's tally for the overflow site; 0 when there is none. */
uint32_t pl_tally_overflow(struct pl_process *process, struct pl_thread *thread);

#endif
