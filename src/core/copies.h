/* SPDX-License-Identifier: MIT */
/*
 * copies.h - copies of the profile, made by the process itself while it goes on.
 *
 * A copy is a whole profile. One is made at a time; whoever comes meanwhile waits a little, unless it interrupted the
 * one who makes it: then, and when it takes long, -EBUSY. Each returns 0 or a negative errno.
 */
#ifndef PL_COPIES_H
#define PL_COPIES_H

#include "process.h"

long pl_copy_to(struct pl_process *process, const char *path);

/* Beside the destination. NULL: numbered. */
long pl_copy_snapshot(struct pl_process *process, const char *name);

/* If PLIMSOLL_SNAPSHOT_EVERY says that it is time: 1 when one was taken. */
long pl_copy_if_due(struct pl_process *process);

#endif
