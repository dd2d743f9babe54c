/* SPDX-License-Identifier: MIT */
/*
 * enclose.h - a mount namespace in which a glibc of ours is the system's, for one process and all that come from it.
 */
#ifndef PL_ENCLOSE_H
#define PL_ENCLOSE_H

#include <stdbool.h>

#include "glibc.h"

/* What takes whose place: files, by their absolute paths. */
struct pl_enclosure {
    const struct pl_glibc *glibc;
    char *libc; /* the system's */
    char *loader;
};

/* Finds the system's files. False: it cannot be done here, and the reason has been said. */
bool pl_enclose_plan(const struct pl_glibc *glibc, struct pl_enclosure *out);
void pl_enclose_free(struct pl_enclosure *enclosure);

/* Is this loader, which a program names, the system's, in whose place ours will be? */
bool pl_enclose_covers(const char *loader);

/* Puts the calling process, which must have one thread, into the namespace. 0, or the step that failed, with errno. */
int pl_enclose_enter(const struct pl_enclosure *enclosure);

/* Says which step failed, why, and what to do instead. */
void pl_enclose_complain(const struct pl_enclosure *enclosure, int step, int error);

#endif
