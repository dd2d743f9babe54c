/* SPDX-License-Identifier: MIT */
/*
 * tallies.h - exact mode: finds the tally for the stack of an allocation.
 *
 * Each thread has a tracker: the state of the differential unwinder (trace.h), which turns a stack into a hash, and a
 * table from hashes to tallies. Each entry of the table remembers which entry followed it last time. Programs repeat
 * themselves, so this prediction is right four times out of five, and the tally's cache line is prefetched before the
 * unwind begins.
 *
 *   hash ──► struct pl_seen { hash, tally, next }      a tally's place is its offset in the file / 64
 *
 * A new hash takes the slow path: a plain walk, the stack's number in the trie, and a process-wide map from (thread,
 * stack, tag, volume) to the tally. So two hashes of one stack (one from a plain walk and one from a trace) lead to the
 * same tally. The volume is incremented before a tally's 32-bit counters can overflow, and at a reset: from then on the
 * thread writes to new tallies. The tag's salt is part of the hash, so stacks under different tags have different
 * tallies.
 *
 * A stack begins with a small record (smalls.h). When it has grown, the table learns the place of the tally at the next
 * allocation; the map keeps that of the small record, which names the tally.
 *
 * Fork does not wipe a tracker: a signal handler may fork inside a visit, which then continues in the child and uses
 * the tracker. Nothing else in the child points to it.
 */
#ifndef PL_TALLIES_H
#define PL_TALLIES_H

#include "core/process.h"
#include "core/python/python.h"
#include "core/records/stacks.h"
#include "core/unwind/trace.h"

struct pl_seen {
    uint64_t hash; /* 0: empty */
    uint32_t tally;
    uint32_t next; /* index of the entry that was used after this one */
};

#define PL_SEEN_FIRST_LOG2 9

struct pl_tracker {
    struct pl_seen *seen;
    uint32_t shift; /* 64 - log2 of the number of entries */
    uint32_t used;
    uint32_t last;      /* index of the entry of the last allocation, */
    uint32_t predicted; /* and of the one expected next */
    struct pl_trace *trace;
    struct pl_seen first[1u << PL_SEEN_FIRST_LOG2] __attribute__((aligned(64))); /* the table, until it grows */
    struct pl_stack_memory stack;
};

/* Gives the thread a tracker, if it has none. False: no memory. */
bool pl_tally_track(struct pl_process *process, struct pl_thread *thread);

/* The same, for a thread that is to count exactly. False: no memory, or the thread has no record. */
bool pl_tally_ready(struct pl_process *process, struct pl_thread *thread);

/* The thread's block has a new owner, with another stack: discards the cached stacks. */
void pl_tally_forget(struct pl_thread *thread);

INLINE struct pl_tally *pl_tally_at(uint64_t place)
{
    return (struct pl_tally *) (void *) (pl_file_base + place * 64);
}

uint32_t pl_tally_place(const struct pl_process *process, const struct pl_tally *tally);

/* Blocks that are allocated from now on are of this cohort. */
INLINE void pl_tally_begin_cohort(struct pl_tally *tally, uint32_t cohort)
{
    tally->cohort = (uint8_t) cohort;
    tally->owner = tally->thread | cohort << PL_OWNER_COHORT_SHIFT;
}

/* Does this `owner` of a tally name the thread with this record? A small record has its site, with a mark, there. */
INLINE bool pl_tally_is_owned(uint32_t owner, uint32_t record)
{
    return ((owner ^ record) & ~PL_OWNER_COHORT) == 0;
}

/* 0 would be an empty entry. */
INLINE uint64_t pl_tally_salted(const struct pl_thread *thread, uint64_t hash)
{
    return (hash + thread->salt) | 1;
}

/* The tally of this entry, which was used now. Prefetches the entry that the next visit will read first. */
INLINE uint32_t pl_tally_expect_next(struct pl_tracker *tracker, uint32_t i)
{
    uint32_t next = tracker->seen[i].next;
    __builtin_prefetch(&tracker->seen[next]);
    tracker->last = i;
    tracker->predicted = next;
    return tracker->seen[i].tally;
}

/* pl_tally_find() for a stack that was not predicted. `hash` is that of pl_trace_recall(), with Python's frames. */
uint32_t pl_tally_search(struct pl_process *process, struct pl_thread *thread, struct pl_tracker *tracker,
                         const struct pl_start *start, uint64_t hash);

/* The place of the tally or small record for this stack; 0: there is no room. */
INLINE uint32_t pl_tally_find(struct pl_process *process, struct pl_thread *thread, struct pl_tracker *tracker,
                              const struct pl_start *start)
{
    uint64_t hash = pl_python_with(thread, pl_trace_recall(tracker->trace, start, load_relaxed(&process->generation)));
    uint32_t i = tracker->predicted;
    if (unlikely(!hash || tracker->seen[i].hash != pl_tally_salted(thread, hash)))
        return pl_tally_search(process, thread, tracker, start, hash);
    return pl_tally_expect_next(tracker, i);
}

/* The same for allocations outside of the recorded sizes: the stack is not unwound. */
uint32_t pl_tally_other(struct pl_process *process, struct pl_thread *thread);

/* Are tallies of this site made without a small record? Only those of stacks that cannot be told apart. */
bool pl_tally_is_first(const struct pl_process *process, uint32_t site);

/* The record that was found last has grown. */
INLINE void pl_tally_replace(struct pl_tracker *tracker, uint32_t small, uint32_t tally)
{
    if (tracker->seen[tracker->last].tally == small)
        tracker->seen[tracker->last].tally = tally;
}

/* Prefetches the predicted tally. To be called before the search, and before anything slow. A small record is not
 * prefetched: with its mark, the place is far outside of the file, which does no harm. */
INLINE void pl_tally_prefetch(const struct pl_tracker *tracker)
{
    __builtin_prefetch(pl_tally_at(tracker->seen[tracker->predicted].tally), 1);
}

/* From now on the thread writes to new tallies and rows: a tally's counters are nearly full, or there was a reset. */
void pl_tally_next_volume(struct pl_thread *thread);

/* The record for other threads' frees of the blocks of a tally, or of a small record; NULL if there is no room. */
struct pl_remote *pl_tally_remote(struct pl_process *process, struct pl_tally *tally);
struct pl_remote *pl_tally_small_remote(struct pl_process *process, struct pl_small *small);

/* The thread's tally for the overflow site; 0 if there is no room for one. */
uint32_t pl_tally_overflow(struct pl_process *process, struct pl_thread *thread);

#endif
