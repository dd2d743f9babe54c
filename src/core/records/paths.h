/* SPDX-License-Identifier: MIT */
/*
 * paths.h - the path of a profile, while the process runs and afterwards.
 */
#ifndef PL_PATHS_H
#define PL_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_process;

/* All return false if the path is too long, or if it is relative and the working directory is not known. `attempt` is
 * 0, then 1, 2 ... as long as the file exists already. */

/* PLIMSOLL_OUT with its % expanded, made absolute against the working directory at start. */
bool pl_path_destination(const struct pl_process *process, const char *pattern, char *out, size_t bytes);

/* The live file in `directory`. */
bool pl_path_live(const struct pl_process *process, const char *directory, unsigned attempt, char *out, size_t bytes);

/* Is this the name of a live file? */
bool pl_path_is_live(const char *path);

/* Does PLIMSOLL_OUT have a %? */
bool pl_path_is_pattern(const char *out);

/* Where the live file goes if the directory of `plimsoll run` has no room: beside the destination,
 * DESTINATION.PID.live. No final name is like that, so `run` can move several such files to their destinations. */
bool pl_path_aside(const struct pl_process *process, unsigned attempt, char *out, size_t bytes);

/* A snapshot: the destination with a name, or a number, before its suffix. A name gets a number from attempt 1 on. */
bool pl_path_snapshot(const struct pl_process *process, const char *name, unsigned attempt, char *out, size_t bytes);

/* The destination: first as it is; then, if PLIMSOLL_OUT has no %, with the pid; then with a number. */
bool pl_path_final(const struct pl_process *process, unsigned attempt, char *out, size_t bytes);

#endif
