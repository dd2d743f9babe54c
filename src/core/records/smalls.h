/* SPDX-License-Identifier: MIT */
/*
 * smalls.h - exact mode: the first calls of a stack, in a record of 64 bytes that grows into a tally.
 *
 * A place names either kind, in the word of a live block and in a thread's table of stacks. The place of a tally is its
 * offset in the file / 64. The place of a small record is that of a tally whose owner would be where the record begins:
 *
 *   place of a tally            ►│ site ...  │           │ owner ...  │
 *   place of a small record     ►│ other records         │ site, with PL_SMALL_MARK ... │
 *
 * No owner has the mark. So a free compares one word with its own thread's number, as if all records were tallies, and
 * looks for a small record only if they differ. A malloc sees in its thread's table, by PL_PLACE_SMALL, which kind it
 * has found.
 *
 * Only the owner of a record writes to it and lets it grow; other threads' frees go to a record of kind REMOTE. A
 * signal handler inside of a visit of the owner counts as another thread. If the owner leaves by longjmp before the
 * tally is published, the tally never counts, and the record grows anew when it is next used.
 */
#ifndef PL_SMALLS_H
#define PL_SMALLS_H

#include "core/process.h"
#include "format/small.h"

#define PL_PLACE_SMALL (1u << 31)

#define PL_SMALL_BEFORE offsetof(struct pl_tally, owner)

/* The mark is shifted out. */
INLINE struct pl_small *pl_small_at(uint32_t place)
{
    return (struct pl_small *) (void *) (pl_file_base + (uint32_t) (place << 6) + PL_SMALL_BEFORE);
}

/* A new record, published; 0 if there is no room. The place has the mark. */
uint32_t pl_small_write(struct pl_process *process, struct pl_thread *thread, uint32_t site);

/* The tally that has replaced the record; NULL: none yet. By any thread. */
struct pl_tally *pl_small_grown(const struct pl_process *process, const struct pl_small *small);

/* Replaces the record by a tally, if none has replaced it yet. Only by the owner; NULL if there is no room. */
struct pl_tally *pl_small_grow(struct pl_process *process, struct pl_small *small);

/* Each counts something in a record that has not grown, by its owner. False: the record has no room for it and must
 * grow first; nothing has changed. */
bool pl_small_allocated(struct pl_process *process, struct pl_small *small, uint64_t size);
bool pl_small_freed(struct pl_process *process, struct pl_small *small, uint64_t size, uint64_t units, uint64_t now,
                    bool temporary);
bool pl_small_reallocated(struct pl_small *small, bool moved);

/* The record has no room for a free and cannot grow: counts the free without its lifetime and age, if it can. */
bool pl_small_freed_only(struct pl_process *process, struct pl_small *small, uint64_t size);

#endif
