/* SPDX-License-Identifier: MIT */
/*
 * take.h - takes snapshots of a running process, one or a series: copies of its live profile, with names, in files of
 * their own.
 *
 * A snapshot of app.plim is app.NAME.plim, or app.0001.plim, app.0002.plim, ... No file is ever replaced.
 */
#ifndef PL_TAKE_H
#define PL_TAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/snapshot/series.h"
#include "reader/profile.h"
#include "reader/symbols/namecache.h"

/* Where snapshots go and what is in them. */
struct pl_take_options {
    const char *out;  /* directory, or file to derive names from; NULL: derive them from the profile's destination */
    const char *name; /* NULL: a number */
    bool sole;        /* `out` itself is the file, unless it is a directory */
    bool apart;       /* add the pid to the name: several processes have the same destination */
    bool alone;       /* find out whether to add the pid */
    bool no_symbols;
};

struct pl_take_file {
    char *path; /* NULL: none was taken */
    uint64_t number;
    uint64_t file_bytes;
};

/*
 * `live` is the profile of a running process; `root` is its root directory, or NULL if that is ours. The snapshot's
 * number is at least `number`, and higher than those of existing snapshots. Names are taken from `known`, and new ones
 * are added to it; it may be NULL. Returns 0; PL_TAKE_NAMELESS, if the snapshot was written but names could not be
 * stored in it; or a negative errno, if there is no file. `why` explains the latter two.
 */
#define PL_TAKE_NAMELESS 1
int pl_take_one(const struct pl_take_options *options, const char *live, const char *root, uint64_t number,
                struct pl_namecache *known, struct pl_take_file *out, char why[PL_WHY_BYTES]);
void pl_take_free(struct pl_take_file *taken);

/* --- a series --- */

struct pl_take_series {
    struct pl_take_options options;
    struct pl_series places;
    struct pl_take_file last;
    struct pl_namecache *known; /* names, which later snapshots reuse; NULL before the first */
    uint64_t offset;            /* number in the name = place in the series + offset */
    uint64_t failed;
};

/*
 * Takes a snapshot if one is due. *path is its file, valid until the next call; NULL if none was taken. Returns what
 * pl_take_one() returns. After a failure the series continues, without that snapshot.
 */
int pl_take_due(struct pl_take_series *series, const char *live, const char *root, uint64_t now_ns, const char **path,
                char why[PL_WHY_BYTES]);

/* For a process that has ended: frees what only further snapshots need. Keeps the series. */
void pl_take_rest(struct pl_take_series *series);
void pl_take_free_series(struct pl_take_series *series);

/* "12 snapshots: app.0001.plim to app.0012.plim", "40 snapshots, 8 kept: ...". The caller frees it. */
char *pl_take_words(const struct pl_take_series *series);

#endif
