/* SPDX-License-Identifier: MIT */
/*
 * shot.h - takes one snapshot of a running process: a copy of its live profile, with names, in a file of its own.
 *
 * A snapshot of app.plim is app.NAME.plim, or app.0001.plim, app.0002.plim, ... No file is ever replaced.
 */
#ifndef PL_SHOT_H
#define PL_SHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "known.h"
#include "profile.h"

/* Where snapshots go and what is in them. */
struct pl_shot_options {
    const char *out;  /* named after this one instead of where the profile will go, or in this directory; or NULL */
    const char *name; /* NULL: a number */
    bool sole;        /* `out` itself is the file, unless it is a directory */
    bool apart;       /* the pid is part of the name: several processes have the same destination */
    bool alone;       /* nobody knows whether they do: find out */
    bool no_symbols;
};

struct pl_shot {
    char *path; /* NULL: none was taken */
    uint64_t number;
    uint64_t file_bytes;
};

/*
 * `live` is the profile of a running process; `root` is where its files are, if it sees others than we do. The number
 * is at least `number`, and more than any that is there already. Names are taken from, and added to, `known`, which may
 * be NULL. 0; PL_SHOT_NAMELESS, if it is there but names could not be stored in it; or a negative errno, and no file.
 * `why` has a line on the latter two.
 */
#define PL_SHOT_NAMELESS 1
int pl_shot_take(const struct pl_shot_options *options, const char *live, const char *root, uint64_t number,
                 struct pl_known *known, struct pl_shot *out, char why[PL_WHY_BYTES]);
void pl_shot_free(struct pl_shot *shot);

#endif
