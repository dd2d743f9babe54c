/* SPDX-License-Identifier: MIT */
/*
 * foreign.h - exact mode: a thread's own records for the blocks of other threads that it frees.
 *
 * Each tally can have a record for frees by all other threads, who add to it atomically (pl_tally_remote()). Where
 * threads pass blocks on to each other, its cache lines move between processors with every free. So a thread that frees
 * several blocks of one tally gets a record of its own for them, and adds to that without atomics. Readers add up all
 * records that name the tally. The process finds them as a list, which begins at the record of all threads:
 *
 *   tally.remote ──► all threads ──► one thread ──► another thread      (struct pl_remote: next)
 *
 * A thread remembers its records by the place of the tally, in a small table. What does not fit is booked atomically.
 */
#ifndef PL_FOREIGN_H
#define PL_FOREIGN_H

#include "core/compiler.h"
#include "core/records/file.h"
#include "format/format.h"

#define PL_FOREIGN_SETS_LOG2 6
#define PL_FOREIGN_WAYS 2
#define PL_FOREIGN_WALK_MOST 4096u /* the record of all threads, and one of each (PL_THREADS_MAX) */
#define PL_FOREIGN_AFTER 16u       /* frees; less than the place of any record */

struct pl_foreign {
    uint32_t place; /* of a tally of another thread; 0: empty */
    uint32_t own;   /* place of the record for it; below PL_FOREIGN_AFTER: none yet, after so many frees */
};

struct pl_foreigns {
    struct pl_foreign entry[1 << PL_FOREIGN_SETS_LOG2][PL_FOREIGN_WAYS];
    uint32_t records; /* made so far */
    uint32_t crowded; /* how often a tally found no entry */
};

struct pl_process;
struct pl_thread;

INLINE struct pl_foreign *pl_foreign_set(struct pl_foreigns *foreigns, uint32_t place)
{
    return foreigns->entry[place * 0x9e3779b1u >> (32 - PL_FOREIGN_SETS_LOG2)];
}

INLINE struct pl_remote *pl_foreign_at(uint32_t place)
{
    return (struct pl_remote *) (void *) (pl_file_base + (uint64_t) place * 64);
}

/* The place of the thread's own record for the tally at this place; 0: it has none, or does not remember it. */
INLINE uint32_t pl_foreign_find(struct pl_foreigns *foreigns, uint32_t place)
{
    const struct pl_foreign *entry = pl_foreign_set(foreigns, place);
    if (entry->place != place && (++entry)->place != place)
        return 0;
    return entry->own >= PL_FOREIGN_AFTER ? entry->own : 0;
}

/* Inside of a visit: the thread has freed a block of another thread's tally, and booked that in the record of all
 * threads. Makes a record of its own for this thread when it is time. Not after a reset, and not while the process
 * exits: then every such free is booked in the record of all threads. */
void pl_foreign_note(struct pl_process *process, struct pl_thread *thread, struct pl_tally *tally);

/* A walk over the remote records of a tally or small record: `number` is first that of the first record; 0: none. */
struct pl_foreign_walk {
    uint32_t number;
    uint32_t seen;
};

/* The next record; NULL: there is no other. Other processes can write to the file and make the list a circle, so a walk
 * has an end. Inline, because the deepest chain of calls in the cold path ends here. */
INLINE struct pl_remote *pl_foreign_next(const struct pl_file *file, struct pl_foreign_walk *walk)
{
    if (!walk->number || walk->seen++ > PL_FOREIGN_WALK_MOST)
        return NULL;
    struct pl_remote *remote = pl_file_record(file, PL_KIND_REMOTE, walk->number);
    if ((uint8_t *) remote == pl_file_nowhere)
        return NULL;
    walk->number = load_acquire(&remote->next);
    return remote;
}

#endif
