/* SPDX-License-Identifier: MIT */
/*
 * progress.h - what has been sent of each process, on disk, so that an agent that was killed goes on where it stopped.
 *
 * A profile has all figures since its process began, so what has to be remembered is only how far it was sent. The
 * file is replaced after each round. A second file is there while a round is being sent: if the agent is killed then,
 * nobody knows what the store got, and deltas begin anew, which the next agent says.
 *
 * Invariant: what the file says was not sent, was not. So nothing is sent twice.
 */
#ifndef PL_PROGRESS_H
#define PL_PROGRESS_H

#include "cli/option.h"
#include "cli/serve/fleet.h"

struct pl_progress;

/* Makes the directory if it is missing. Says what is wrong: another agent uses it, or it cannot be written to. */
enum pl_exit pl_progress_open(const char *directory, struct pl_progress **out);
void pl_progress_close(struct pl_progress *progress); /* NULL is fine, here and below */

/* After the first look: gives processes what the last agent remembered of them, and says what is lost. */
void pl_progress_recall(struct pl_progress *progress, struct pl_fleet *fleet);

/* Around a round. If something cannot be written, that is said once; then a restart begins anew. `ended` is how many
 * processes have ended whose figures could not be sent yet. */
void pl_progress_begin(struct pl_progress *progress);
void pl_progress_end(struct pl_progress *progress, const struct pl_fleet *fleet, uint64_t ended);

#endif
