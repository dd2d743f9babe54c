/* SPDX-License-Identifier: MIT */
/*
 * enclose.h - a mount namespace in which our glibc replaces the system's, for one process and its descendants.
 */
#ifndef PL_ENCLOSE_H
#define PL_ENCLOSE_H

#include <stdbool.h>

#include "cli/run/glibc.h"

/* The glibc, and the absolute paths of the files that it replaces. */
struct pl_enclosure {
    const struct pl_glibc *glibc;
    char *libc;   /* the system's */
    char *loader; /* the system's */
};

/* Finds the system's files. False: this is not possible here, and the error has been printed. */
bool pl_enclose_plan(const struct pl_glibc *glibc, struct pl_enclosure *out);
void pl_enclose_free(struct pl_enclosure *enclosure);

/* Is the loader that a program names the system's, which ours will replace? */
bool pl_enclose_covers(const char *loader);

/* Moves the calling process, which must have one thread, into the namespace. 0, or the step that failed, with errno. */
int pl_enclose_enter(const struct pl_enclosure *enclosure);

/* Prints which step failed, why, and what to do instead. */
void pl_enclose_complain(const struct pl_enclosure *enclosure, int step, int error);

#endif
