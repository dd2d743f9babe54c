/* SPDX-License-Identifier: MIT */
/*
 * handover.h - a path by which another process can open our library: its own path, if the process sees the same file
 * there; otherwise that of a copy.
 */
#ifndef PL_HANDOVER_H
#define PL_HANDOVER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "attach/obstacles.h"

struct pl_handover {
    char path[PATH_MAX];
    int directory; /* below the process's root, where we have put a copy that is to be removed; -1: none */
};

/* False: there is no way (why). */
bool pl_handover_make(struct pl_handover *out, pid_t pid, const char *library, char why[PL_OBSTACLES_BYTES]);
void pl_handover_end(struct pl_handover *handover);

#endif
