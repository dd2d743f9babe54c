/* SPDX-License-Identifier: MIT */
/*
 * resident.h - finds out whether most of a process's memory does not come from malloc.
 */
#ifndef PL_RESIDENT_H
#define PL_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>

#include "reader/profile.h"

struct pl_resident {
    const struct pl_moment_view *most; /* when anonymous RSS was largest */
    double anonymous_bytes;            /* then */
    double outside_bytes;              /* the part of it that neither the heap nor threads explain; at least 0 */
    bool most_outside;                 /* that part is the larger one */
};

/* The moment with the highest RSS; NULL if RSS is not known. */
const struct pl_moment_view *pl_resident_highest(const struct pl_profile *profile);

/* How to see the memory of a program that is known to manage most of it itself; NULL: it is not known to. */
const char *pl_resident_manager(const struct pl_profile *profile);

/* True if that part is the larger one, or large in a program that is known to keep another heap, or if calls of malloc
 * were not seen: then it is worth a headline. The profile is of one process, and of all of it. */
bool pl_resident_outside(const struct pl_profile *profile, struct pl_resident *out);

/* A reason why Plimsoll did not see all calls of malloc; PL_BYPASS_COUNT: none is known. */
enum pl_bypass pl_resident_bypass(const struct pl_profile *profile);

/* "heap 20.6 MiB, RSS 472 MiB: most of this program's memory does not come from malloc"; if calls of malloc were not
 * seen, "heap seen 0 B, RSS 46.1 MiB: most of this program's memory was not seen", or "... allocations of this program
 * were not seen". */
void pl_resident_headline(const struct pl_profile *profile, const struct pl_resident *resident, char *out,
                          size_t bytes);

#endif
