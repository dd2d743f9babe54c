/* SPDX-License-Identifier: MIT */
/*
 * scopes.h - what a thread is charged to: entering and leaving tags.
 *
 * malloc knows nothing of tags. It counts calls and charges, per thread, as it does anyway; and whenever the thread
 * changes its tag, what the counters have moved since the last time is booked to the tag that is being left. So calls
 * and bytes per thread and tag are exact in every mode, and cost what changing tags costs: some nanoseconds.
 *
 *   tls->calls, charge ──► scope record (thread, tag)         by pl_scope_book(), when the tag changes
 *                    └───► thread record                      likewise, and on every visit to the cold path
 *
 * What the thread record says beyond the sum of its scope records belongs to the tag that the record names. While
 * nothing is recorded, the thread is charged to the reserved tags "(off)" and "(paused)" instead of its own.
 *
 * A change of tags is a small visit (cold.h): a signal handler that allocates in the middle of one is nested. One that
 * enters tags in the middle of one only has its ends of scopes counted, `beyond`, as does a thread that finds no room.
 *
 * Invariant: a thread that has no scopes has always been charged to the root.
 */
#ifndef PL_SCOPES_H
#define PL_SCOPES_H

#include "tags.h"
#include "threads.h"

/* Enters a tag below the current one; NULL enters nothing, and will be left as if it had. By text: the name is looked
 * up, among those that the thread has just used first. */
void pl_scope_enter(const struct pl_name *name);
void pl_scope_push(const char *text);
void pl_scope_leave(void);

/* The current tag as a word that is good in every thread, and after fork; makes such a tag the current one. Returns
 * what was before, for a later call. */
uint64_t pl_scope_now(void);
uint64_t pl_scope_go(uint64_t context);

/* Inside of a visit: charges the thread to a reserved tag, or to its own again (PL_TAG_AT_ROOT). */
void pl_scope_mute(struct pl_process *process, struct pl_thread *thread, uint32_t reserved);

/* Inside of a visit: books what has not been booked, if there is where. */
void pl_scope_book(struct pl_thread *thread, const struct pl_tls *tls);

/* The thread ends: likewise, and sees to it that there is. */
void pl_scope_settle(struct pl_process *process, struct pl_thread *thread, const struct pl_tls *tls);

/* Figures begin anew: what has not been booked never will be. */
void pl_scope_skip(struct pl_thread *thread, const struct pl_tls *tls);

/* What names the scope record of a thread and a tag, both by the numbers of their records, in the process's map. */
uint64_t pl_scope_key(uint32_t thread, uint32_t reset, uint32_t tag);

/* The thread has another record than before, or figures begin anew: its scopes are to be found anew. */
void pl_scope_forget(struct pl_process *process, struct pl_thread *thread, const struct pl_tls *tls);

#endif
