/* SPDX-License-Identifier: MIT */
/*
 * threads.h - what the core keeps per thread.
 *
 * struct pl_tls is all that the hot path touches: zero when a thread starts, so that its first allocation borrows and
 * visits the cold path, which registers the thread. struct pl_thread is the rest, in memory of our own.
 *
 * Blocks are never given back. A thread that ends leaves its block, with its rows and its record in the file, to a
 * later thread of the same name, once more than PL_THREADS_OWN blocks exist: 100,000 short threads stay bounded.
 *
 * Invariant: a block has at most one owner, the thread whose struct pl_tls it points back to.
 */
#ifndef PL_THREADS_H
#define PL_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"
#include "format.h"
#include "modules.h"
#include "rows.h"
#include "sampler.h"
#include "unwind.h"

struct pl_tls {
    uint64_t charge_left; /* counted down by size + K; borrowing is the signal to visit the cold path */
    uint64_t calls[PL_FN_COUNT];
    struct pl_thread *thread;
    uint64_t charge_aside;  /* spent where no countdown saw it, less what was taken back */
    struct pl_thread *left; /* its block, when it has said goodbye and may come back */
    uint32_t goodbyes;      /* how often the thread's end was announced: it may allocate again in between */
    uint32_t visiting;      /* a visit is under way; fork keeps this word, and not the thread's block */
    uint32_t unknown;       /* frees of which the filter was wrong */
};
_Static_assert(sizeof(struct pl_tls) < 128, "thread-local storage of a preloaded library is scarce");

extern HIDDEN __thread struct pl_tls pl_tls INITIAL_EXEC;

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

    struct pl_module_cache modules;
    struct pl_row_entry rows[PL_ROW_CACHE];
    struct pl_walk walk;
};

#define PL_THREADS_OWN 256
#define PL_THREADS_MAX 4096

/* Blocks as the program sees them, for the bound on memory. */
_Static_assert(sizeof(struct pl_thread) <= 16384, "a thread may cost 64 KiB, and should cost much less");

struct pl_process;

/* The calling thread's block: its own, or made or taken over for it; NULL when there is none to be had. */
struct pl_thread *pl_thread_register(struct pl_process *process, struct pl_tls *tls);

/* What the thread that now owns the block has counted so far. */
void pl_thread_totals(const struct pl_thread *thread, const struct pl_tls *tls, uint64_t *calls, uint64_t *bytes);

/* Writes a thread's exact totals to the file. `tls` may be a copy of another thread's. */
void pl_thread_book(struct pl_process *process, struct pl_thread *thread, const struct pl_tls *tls);

/* Gives a thread its record in the file, when there is a file. */
void pl_thread_attach(struct pl_process *process, struct pl_thread *thread);

/* Makes blocks for later threads. */
void pl_thread_spare(struct pl_process *process, unsigned blocks);

/* The calling thread ends. */
void pl_thread_goodbye(struct pl_process *process, struct pl_tls *tls);

/* The thread, any thread, has a new name. `name` may be longer than 15 characters. */
void pl_thread_rename(struct pl_process *process, struct pl_thread *thread, const char *name);

/* Books the totals of all threads, as far as they can be read: at the end of the process. */
void pl_thread_book_all(struct pl_process *process);

#endif
