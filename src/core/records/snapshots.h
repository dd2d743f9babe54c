/* SPDX-License-Identifier: MIT */
/*
 * snapshots.h - snapshots that the process takes of itself: copies of its profile, made while it runs.
 *
 * A snapshot is a complete profile. Only one is taken at a time. A second caller waits up to 100 ms, then gets -EBUSY;
 * a signal handler that interrupted the copying thread gets -EBUSY at once. Each function returns 0 or a negative
 * errno. (`plimsoll snapshot` takes them from outside: reader/write/copy.c.)
 */
#ifndef PL_SNAPSHOTS_H
#define PL_SNAPSHOTS_H

#include "core/process.h"

/* Writes a snapshot to `path`, which must not exist. */
long pl_snapshot_write(struct pl_process *process, const char *path);

/* Writes a snapshot beside the destination of the profile. Without a name it gets a number. */
long pl_snapshot_take(struct pl_process *process, const char *name);

/* Takes a numbered snapshot if PLIMSOLL_SNAPSHOT_EVERY has passed since the last one. Returns 1 if it did. */
long pl_snapshot_if_due(struct pl_process *process);

#endif
