/* SPDX-License-Identifier: MIT */
/*
 * handover.h - a path by which another process can open our library: its own path, if the process sees the same file
 * there; otherwise a descriptor of ours, /proc/PID/fd/N, if it can be opened from there.
 */
#ifndef PL_HANDOVER_H
#define PL_HANDOVER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "attach/obstacles.h"

struct pl_handover {
    char path[PATH_MAX];
    char copy[PATH_MAX]; /* a file that we have put below the process's root, to be removed; "": none */
};

/* False: there is no way (why). */
bool pl_handover_make(struct pl_handover *out, pid_t pid, const char *library, char why[PL_OBSTACLES_BYTES]);
void pl_handover_end(struct pl_handover *handover);

#endif
