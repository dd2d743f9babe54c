/* SPDX-License-Identifier: MIT */
/*
 * threads.h - what the core keeps per thread.
 *
 * struct pl_tls is all that the hot path touches. It is zero when a thread starts, so the thread's first allocation
 * borrows and visits the cold path, which registers the thread. struct pl_thread, the thread's "block", is the rest; it
 * lies in memory of our own.
 *
 * Blocks are never unmapped. Once max_threads (config.h) blocks exist, a new thread takes over the block of an ended
 * thread of the same name, if there is one, with its rows and its record in the file. So the memory for 100,000 short
 * threads is bounded.
 *
 * Invariant: a block has at most one owner, the thread whose struct pl_tls it points back to.
 */
#ifndef PL_THREADS_H
#define PL_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arch.h"
#include "core/compiler.h"
#include "core/records/foreign.h"
#include "core/records/modules.h"
#include "core/records/rows.h"
#include "core/sampler.h"
#include "core/unwind/unwind.h"
#include "format/format.h"

/*
 * process->counting says whether every allocation is counted now, which is so only while the process is ON and has a
 * file. It is the number of changes of settings, shifted by PL_COUNT_BITS, and one of these values; or 0.
 */
enum pl_counting {
    PL_COUNT_NOTHING = 0,
    PL_COUNT_ALL,
    PL_COUNT_EXITING, /* all, and main has returned or exit was called */
    PL_COUNT_NEVER,   /* in no value of process->counting */
};
#define PL_COUNT_BITS 2
#define PL_COUNT_MASK 3u

/*
 * A thread that counts exactly has a ticket: the complement of process->counting, so that memory that fork has wiped
 * (zeros) is no ticket. If the two do not match, the thread goes to the cold path and applies what has changed. Outside
 * of visits the ticket is in the thread's thread-local storage, too. So one comparison tells that the thread is
 * registered, is not in a visit, has not been forked, and has everything that it needs to count (pl_exact_is_ready()).
 *
 * While a thread has any ticket but PL_TICKET_NONE, each of its calls is also added to its record at once.
 */
#define PL_TICKET_OF(counting) (~(uint32_t) (counting))
#define PL_TICKET_NONE PL_TICKET_OF(PL_COUNT_NEVER)
#define PL_TICKET_NEW PL_TICKET_OF(1u << PL_COUNT_BITS | PL_COUNT_NEVER)      /* the thread has not allocated yet */
#define PL_TICKET_VISITING PL_TICKET_OF(2u << PL_COUNT_BITS | PL_COUNT_NEVER) /* in thread-local storage only */

struct pl_tls {
    uint64_t charge_left; /* counted down by size + K; a borrow means: visit the cold path */
    uint64_t calls[PL_FN_COUNT];
    struct pl_front_tls *front; /* the front end's own thread-local data */
    struct pl_thread *thread;
    uint64_t charge_aside;  /* charge that is not in any countdown, less charge of calls that were undone */
    struct pl_thread *left; /* the block that pl_thread_goodbye() gave up: the thread may need it again */
    uint32_t goodbyes;      /* calls of pl_thread_goodbye(): between two of them the thread may allocate again */
    uint32_t ticket;        /* the thread's, outside of visits: see process.h; fork keeps PL_TICKET_VISITING */
    uint32_t missed_ticks;  /* price of frees that took the cold path for nothing, not charged yet: see budget.h */
    uint32_t pool_left;     /* as charge_left, of announced heaps: see pools.h */
    uint32_t tag;           /* the current one (tags.h); fork keeps tag, beyond and paused */
    uint32_t beyond;        /* scopes inside the current tag that could not be entered */
    uint16_t refused;       /* how often the thread asked for a block and got none; may begin again */
    uint16_t unknown;       /* frees beside a sample that the filter let through and no table knew; likewise */
    uint32_t paused;        /* pauses minus resumes: not recorded if not 0 */
};
_Static_assert(sizeof(struct pl_tls) < 128, "thread-local storage of a preloaded library is scarce");

extern HIDDEN __thread struct pl_tls pl_tls INITIAL_EXEC PL_ARCH_PAIRS;

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
    /* Two cache lines, up to size_span: what exact mode uses in every visit. */
    struct pl_tls *tls; /* the owner's; NULL: no owner */
    uintptr_t busy;     /* stack pointer of the visit in progress; 0: none */
    uint32_t state;
    uint32_t slept;             /* a nested visit has set the countdown: it is not a gap */
    uint32_t record;            /* number of its pl_thread_record; 0: no file yet */
    int32_t untimed;            /* visits in exact mode until one is timed: one in PL_BUDGET_EVERY */
    uint32_t ticket;            /* see process.h */
    uint64_t salt;              /* of the current tag: added to the hash of a stack */
    struct pl_tracker *tracker; /* tallies.h; NULL: it has not counted exactly yet, nor drawn many samples */
    void *last_block;           /* the last one allocated and counted exactly */

    int64_t headroom; /* this and the next three: see eras.h */
    int64_t headroom_low;
    int64_t headroom_high;
    int64_t objects;
    struct pl_thread_record *record_at;
    uint64_t countdown; /* what charge_left was last set to */
    uint64_t size_from; /* stacks are recorded for sizes from here on, */
    uint64_t size_span; /* and up to so many bytes more */

    int64_t headroom_told; /* this and the next two: see eras.h */
    uint64_t told_calls;
    uint64_t told_bytes;
    struct pl_thread *next;
    uint32_t overflow_row;
    uint32_t overflow_tally;
    uint32_t volume; /* of its tallies and rows: see tallies.h */
    uint32_t tid;
    uint32_t threads;
    uint32_t sampled; /* samples that it has drawn without a tracker */
    char name[16];
    uint64_t start_ns;

    struct pl_sampler sampler;
    struct pl_sampler probing; /* this and the next: see probe.h */
    uint64_t probing_left;
    uint64_t charge_spent;            /* in earlier countdowns */
    uint64_t base_calls[PL_FN_COUNT]; /* by earlier owners */
    uint64_t base_bytes;

    struct pl_scope_state *scopes; /* this and the next four: see scopes.h; NULL: the thread has entered no tag yet */
    uint64_t charged;              /* booked to scopes: charge, calls, bytes */
    uint64_t booked_calls[PL_FN_COUNT];
    uint64_t booked_bytes;
    uint32_t muted;       /* a reserved tag that is charged instead of the current one */
    uint32_t other_tally; /* for allocations outside of the recorded sizes, under the tag other_tag */
    uint32_t other_tag;

    uint32_t changes; /* process->changes when the thread last copied `reset`, size_from and size_span */
    uint32_t reset;   /* resets so far */
    struct pl_bucket made[PL_SIZE_BUCKETS]; /* by size: blocks that it has allocated, and freed */
    struct pl_bucket gone[PL_SIZE_BUCKETS];

    struct pl_python_reader *python; /* NULL: it has not run Python code yet */

    struct pl_sampler pools; /* of announced heaps: pools.c */

    struct pl_foreigns foreigns;
    struct pl_module_cache modules;
    struct pl_row_entry rows[PL_ROW_CACHE];
    struct pl_walk walk;
};

#define PL_THREADS_MAX 4096

_Static_assert(sizeof(struct pl_thread) <= 20480, "a thread may cost 64 KiB, and should cost much less");

struct pl_process;

/* The calling thread's block, or NULL. After fork, tls->thread still points to the parent's block, which is wiped. */
INLINE struct pl_thread *pl_thread_mine(const struct pl_tls *tls)
{
    struct pl_thread *thread = tls->thread;
    return likely(thread && thread->tls == tls) ? thread : NULL;
}

INLINE bool pl_thread_is_visiting(const struct pl_tls *tls)
{
    return tls->ticket == PL_TICKET_VISITING;
}

/* Begins a visit, in a frame with this stack pointer: visits of signal handlers are nested from now on. */
INLINE void pl_thread_enter(struct pl_thread *thread, struct pl_tls *tls, uintptr_t sp)
{
    thread->busy = sp;
    tls->ticket = PL_TICKET_VISITING;
    signal_fence();
}

INLINE void pl_thread_leave(struct pl_thread *thread, struct pl_tls *tls)
{
    signal_fence();
    tls->ticket = thread->ticket;
    store_release(&thread->busy, 0); /* whoever sees this also sees what the visit has changed */
    signal_fence();
}

/* The calling thread's block. If it has none, takes over that of an ended thread or makes one. NULL if both fail. */
struct pl_thread *pl_thread_register(struct pl_process *process, struct pl_tls *tls);

/* The charge of everything that the block's owner has requested. */
INLINE uint64_t pl_thread_charge(const struct pl_thread *thread, const struct pl_tls *tls)
{
    return load_relaxed(&tls->charge_aside) + load_relaxed(&thread->charge_spent) +
           (load_relaxed(&thread->countdown) - load_relaxed(&tls->charge_left));
}

/* The same, with the calls that belong to that charge. A signal handler may count at any moment. */
uint64_t pl_thread_counters(const struct pl_thread *thread, const struct pl_tls *tls, uint64_t calls[PL_FN_COUNT]);

/* What the current owner of the block has counted so far. */
void pl_thread_totals(const struct pl_thread *thread, const struct pl_tls *tls, uint64_t *calls, uint64_t *bytes);

/* In exact mode every call is also added to the thread's record at once. */
INLINE void pl_thread_step(struct pl_thread_record *record, enum pl_function function, uint64_t size)
{
    pl_arch_add(&record->calls[function], 1);
    pl_arch_add(&record->bytes, size);
}

/* Writes the calling thread's exact totals to the file. */
void pl_thread_book(struct pl_process *process, struct pl_thread *thread, const struct pl_tls *tls);

/* Gives a thread its record in the file, if there is a file. */
void pl_thread_attach(struct pl_process *process, struct pl_thread *thread);

/* Inside of a visit: applies resets and changed settings that the thread has not seen yet. */
void pl_thread_catch_up(struct pl_process *process, struct pl_thread *thread);

/* Makes blocks for later threads. */
void pl_thread_spare(struct pl_process *process, unsigned blocks);

/* The calling thread ends. */
void pl_thread_goodbye(struct pl_process *process, struct pl_tls *tls);

/* Any thread has a new name. `name` may be longer than 15 characters. */
void pl_thread_rename(struct pl_process *process, struct pl_thread *thread, const char *name);

/* The same, but the thread is given by the distance of its thread-local storage from the caller's. A thread that has
 * not allocated yet is not found: it will read its name when it registers. */
void pl_thread_renamed(struct pl_process *process, uintptr_t distance, const char *name);

/* Has every thread seen that exact mode was left? Until then, one may be inside an allocation that it will count. */
bool pl_thread_none_counts(const struct pl_process *process);

/* Writes the totals of all threads to the file, as far as they can be read. */
void pl_thread_book_all(struct pl_process *process);

#endif
