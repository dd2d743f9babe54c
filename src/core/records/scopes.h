/* SPDX-License-Identifier: MIT */
/*
 * scopes.h - enters and leaves tags, and charges each thread's calls and bytes to its current tag.
 *
 * malloc does not know about tags: it counts calls and charge per thread, as always. When a thread changes its tag,
 * book() adds what the thread has counted since the last change to the tag that is being left. So calls and bytes per
 * thread and tag are exact in every mode, and the only cost is that of changing tags: some nanoseconds.
 *
 *   tls->calls, charge ──► scope record (thread, tag)         by pl_scope_book(), when the tag changes
 *                    └───► thread record                      then too, and on every visit to the cold path
 *
 * If a thread's record has counted more than the sum of its scope records, the difference belongs to the tag that the
 * thread's record names. While recording is off or paused, the thread is charged to the reserved tag "(off)" or
 * "(paused)" instead of its own.
 *
 * A change of tags is a small visit (cold.h): a signal handler that allocates inside of it is nested. If a handler
 * pushes a tag inside of it, or if there is no room for a tag, the scope is not entered: `beyond` counts such scopes,
 * so that their pops are matched.
 *
 * Invariant: a thread without struct pl_scope_state has always been charged to the root.
 */
#ifndef PL_SCOPES_H
#define PL_SCOPES_H

#include "core/records/tags.h"
#include "core/threads.h"

/* Enters a tag below the current one. NULL enters no tag, but counts as a scope that has to be left. pl_scope_push()
 * takes the name as a text, and looks first among the texts that the thread has pushed recently. */
void pl_scope_enter(const struct pl_tag_name *name);
void pl_scope_push(const char *text);
void pl_scope_leave(void);

/* pl_scope_now() returns the current tag as a word that is valid in every thread, and after fork. pl_scope_go() makes
 * such a tag the current one, and returns the tag that was current before, in the same form. */
uint64_t pl_scope_now(void);
uint64_t pl_scope_go(uint64_t context);

/* Inside of a visit: charges the thread to a reserved tag, or to its own again (PL_TAG_AT_ROOT). */
void pl_scope_mute(struct pl_process *process, struct pl_thread *thread, uint32_t reserved);

/* Inside of a visit: books what has not been booked, if the thread has a scope record. */
void pl_scope_book(struct pl_thread *thread, const struct pl_tls *tls);

/* The same, but first makes the scope record if it is missing. For the end of a thread, and before figures are read. */
void pl_scope_settle(struct pl_process *process, struct pl_thread *thread, const struct pl_tls *tls);

/* After a reset: what has not been booked is from before, and is never booked. */
void pl_scope_skip(struct pl_thread *thread, const struct pl_tls *tls);

/* The key, in the process's map, of a scope record. `thread` and `tag` are numbers of records. */
uint64_t pl_scope_key(uint32_t thread, uint32_t reset, uint32_t tag);

/* The thread has a new record, or there was a reset: discards the cached scopes. */
void pl_scope_forget(struct pl_process *process, struct pl_thread *thread, const struct pl_tls *tls);

#endif
