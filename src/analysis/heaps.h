/* SPDX-License-Identifier: MIT */
/*
 * heaps.h - the heaps of glibc in a running process, as the kernel sees them: what its own mallinfo2() calls `arena`,
 * found without asking it.
 */
#ifndef PL_HEAPS_H
#define PL_HEAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct pl_heaps {
    double bytes, resident; /* of all heaps */
    uint32_t heaps;         /* the main one, and those of threads' arenas */
};

/* False: it may not be looked at, or is gone. */
bool pl_heaps_read(uint32_t pid, struct pl_heaps *out);

/* From the text of /proc/PID/smaps. */
void pl_heaps_parse(FILE *smaps, struct pl_heaps *out);

#endif
