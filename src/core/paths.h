/* SPDX-License-Identifier: MIT */
/*
 * paths.h - what a profile is called, while it lives and afterwards.
 */
#ifndef PL_PATHS_H
#define PL_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_process;

/* PLIMSOLL_OUT with its % expanded, made absolute against the directory we started in. False when it is too long. */
bool pl_path_destination(const struct pl_process *process, const char *pattern, char *out, size_t bytes);

/* The name of the live file in `directory`; attempt 0, 1, 2 ... where a file is in the way. */
bool pl_path_live(const struct pl_process *process, const char *directory, unsigned attempt, char *out, size_t bytes);

/* Of a snapshot: the destination's with a name or number before its suffix; and one of a number of attempts. */
bool pl_path_snapshot(const struct pl_process *process, const char *name, unsigned attempt, char *out, size_t bytes);

/* The destination's name on the n-th attempt: as it is; for a plain name with the pid; with a number. */
bool pl_path_final(const struct pl_process *process, unsigned attempt, char *out, size_t bytes);

#endif
