/* SPDX-License-Identifier: MIT */
/*
 * threads.h - what the core keeps per thread.
 *
 * struct pl_tls is all that the hot path touches: zero when a thread starts, so that its first allocation borrows and
 * visits the cold path, which registers the thread. struct pl_thread is the rest, in memory of our own.
 *
 * Blocks are never given back. A thread that ends leaves its block, with its rows and its record in the file, to a
 * later thread of the same name, once more than max_threads (config.h) blocks exist: 100,000 short threads stay
 * bounded.
 *
 * Invariant: a block has at most one owner, the thread whose struct pl_tls it points back to.
 */
#ifndef PL_THREADS_H
#define PL_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "arch.h"
#include "compiler.h"
#include "format.h"
#include "modules.h"
#include "rows.h"
#include "sampler.h"
#include "unwind.h"

struct pl_tls {
    uint64_t charge_left; /* counted down by size + K; borrowing is the signal to visit the cold path */
    uint64_t calls[PL_FN_COUNT];
    struct pl_front_tls *front; /* the front end's own: what its hot path wants at hand, too */
    struct pl_thread *thread;
    uint64_t charge_aside;  /* spent where no countdown saw it, less what was taken back */
    struct pl_thread *left; /* its block, when it has said goodbye and may come back */
    uint32_t goodbyes;      /* how often the thread's end was announced: it may allocate again in between */
    uint32_t visiting;      /* a visit is under way; fork keeps this word, and not the thread's block */
    uint32_t unknown;       /* frees of which the filter was wrong */
    uint32_t tag;           /* the current one (tags.h); fork keeps it, as the next two */
    uint32_t beyond;        /* scopes inside of it that could not be entered */
    uint32_t refused;       /* how often there was no block to be had for it */
    uint32_t paused;        /* how often the thread has asked not to be recorded */
};
_Static_assert(sizeof(struct pl_tls) < 128, "thread-local storage of a preloaded library is scarce");

extern HIDDEN __thread struct pl_tls pl_tls INITIAL_EXEC;

struct pl_bucket {
    uint64_t blocks;
    uint64_t bytes;
};

enum pl_thread_state {
    PL_THREAD_NEW = 0,
    PL_THREAD_ALIVE,
    PL_THREAD_DEAD, /* free for another thread to take over */
};

struct pl_thread {
    struct pl_tls *tls; /* the owner's; NULL after fork, when nobody owns anything */
    uintptr_t busy;     /* stack pointer of the visit in progress */
    uint32_t state;
    uint32_t slept;             /* a nested visit has set the countdown: it is not a gap */
    uint32_t record;            /* number of its pl_thread_record; 0: no file yet */
    uint32_t visits;            /* exact ones: every so many are timed */
    uint32_t ticket;            /* process->counting, as it was when the thread began to count; see exact.h */
    uint64_t salt;              /* of the current tag: makes stacks under different tags different */
    struct pl_tracker *tracker; /* tallies.h; NULL: it has not counted exactly yet */
    void *last_block;           /* the last one allocated and counted exactly */

    int64_t headroom; /* eras.h, as the next five */
    int64_t headroom_low;
    int64_t headroom_high;
    int64_t headroom_told;
    int64_t objects;
    uint64_t told_calls;
    uint64_t told_bytes;

    struct pl_thread_record *record_at;
    struct pl_thread *next;
    uint32_t overflow_row;
    uint32_t overflow_tally;
    uint32_t volume; /* of its tallies: see tallies.h */
    uint32_t tid;
    uint32_t threads;
    char name[16];
    uint64_t start_ns;

    struct pl_sampler sampler;
    uint64_t countdown;               /* what charge_left was last set to */
    uint64_t charge_spent;            /* up to then */
    uint64_t base_calls[PL_FN_COUNT]; /* by earlier owners */
    uint64_t base_bytes;

    struct pl_scopes *scopes; /* scopes.h, as the next five; NULL: it has entered no tag yet */
    uint64_t charged;         /* what is booked to them: in charge, */
    uint64_t booked_calls[PL_FN_COUNT];
    uint64_t booked_bytes;
    uint32_t muted;       /* a reserved tag that is charged instead of the current one */
    uint32_t other_tally; /* for allocations of other sizes than are wanted, under the current tag */
    uint32_t other_tag;

    uint32_t changes; /* of the process's settings, up to which it is true: */
    uint32_t reset;   /* how often figures have begun anew */
    uint64_t size_from;
    uint64_t size_span;
    struct pl_bucket made[PL_SIZE_BUCKETS]; /* by size: what it has allocated, and freed */
    struct pl_bucket gone[PL_SIZE_BUCKETS];

    struct pl_module_cache modules;
    struct pl_row_entry rows[PL_ROW_CACHE];
    struct pl_walk walk;
};

#define PL_THREADS_MAX 4096

/* Blocks as the program sees them, for the bound on memory. */
_Static_assert(sizeof(struct pl_thread) <= 20480, "a thread may cost 64 KiB, and should cost much less");

struct pl_process;

/* The calling thread's block, if it has one: fork leaves a pointer to a block that is nobody's. */
INLINE struct pl_thread *pl_thread_mine(const struct pl_tls *tls)
{
    struct pl_thread *thread = tls->thread;
    return likely(thread && thread->tls == tls) ? thread : NULL;
}

/* A visit begins, in a frame with this stack pointer: a handler that comes from now on is nested. */
INLINE void pl_thread_enter(struct pl_thread *thread, struct pl_tls *tls, uintptr_t sp)
{
    thread->busy = sp;
    tls->visiting = 1;
    signal_fence();
}

/* And ends. */
INLINE void pl_thread_leave(struct pl_thread *thread, struct pl_tls *tls)
{
    signal_fence();
    tls->visiting = 0;
    thread->busy = 0;
    signal_fence();
}

/* The calling thread's block: its own, or made or taken over for it; NULL when there is none to be had. */
struct pl_thread *pl_thread_register(struct pl_process *process, struct pl_tls *tls);

/* The charge of all that the block's owner has asked for. */
INLINE uint64_t pl_thread_charge(const struct pl_thread *thread, const struct pl_tls *tls)
{
    return load_relaxed(&tls->charge_aside) + load_relaxed(&thread->charge_spent) +
           (load_relaxed(&thread->countdown) - load_relaxed(&tls->charge_left));
}

/* The same, and the calls that belong to it: a handler may be counting at any moment. */
uint64_t pl_thread_counters(const struct pl_thread *thread, const struct pl_tls *tls, uint64_t calls[PL_FN_COUNT]);

/* What the thread that now owns the block has counted so far. */
void pl_thread_totals(const struct pl_thread *thread, const struct pl_tls *tls, uint64_t *calls, uint64_t *bytes);

/* In exact mode the thread's record keeps step with its counters. */
INLINE void pl_thread_step(struct pl_thread_record *record, enum pl_function function, uint64_t size)
{
    pl_add(&record->calls[function], 1);
    pl_add(&record->bytes, size);
}

/* Writes the calling thread's exact totals to the file. */
void pl_thread_book(struct pl_process *process, struct pl_thread *thread, const struct pl_tls *tls);

/* Gives a thread its record in the file, when there is a file. */
void pl_thread_attach(struct pl_process *process, struct pl_thread *thread);

/* Inside of a visit: takes note of what has changed in the process since it last did. */
void pl_thread_catch_up(struct pl_process *process, struct pl_thread *thread);

/* Makes blocks for later threads. */
void pl_thread_spare(struct pl_process *process, unsigned blocks);

/* The calling thread ends. */
void pl_thread_goodbye(struct pl_process *process, struct pl_tls *tls);

/* The thread, any thread, has a new name. `name` may be longer than 15 characters. */
void pl_thread_rename(struct pl_process *process, struct pl_thread *thread, const char *name);

/* The same of a thread that is known by how far its thread-local storage lies from the caller's. One that has not
 * allocated yet is not found: it will ask for its name when it does. */
void pl_thread_renamed(struct pl_process *process, uintptr_t distance, const char *name);

/* Books the totals of all threads, as far as they can be read: at the end of the process. */
void pl_thread_book_all(struct pl_process *process);

#endif
