/* SPDX-License-Identifier: MIT */
/*
 * copies.h - copies of the profile that the process itself makes while it runs.
 *
 * A copy is a complete profile. Only one is made at a time. A second caller waits up to 100 ms, then gets -EBUSY; a
 * signal handler that interrupted the copying thread gets -EBUSY at once. Each function returns 0 or a negative errno.
 */
#ifndef PL_COPIES_H
#define PL_COPIES_H

#include "core/process.h"

long pl_copy_to(struct pl_process *process, const char *path);

/* Makes a snapshot beside the destination. `name` NULL: it gets a number. */
long pl_copy_snapshot(struct pl_process *process, const char *name);

/* Makes one if it is due by PLIMSOLL_SNAPSHOT_EVERY. Returns 1 if it did. */
long pl_copy_if_due(struct pl_process *process);

#endif
