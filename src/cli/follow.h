/* SPDX-License-Identifier: MIT */
/*
 * follow.h - the series of snapshots of one process, as it grows.
 */
#ifndef PL_FOLLOW_H
#define PL_FOLLOW_H

#include "series.h"
#include "shot.h"

struct pl_follow {
    struct pl_shot_options options;
    struct pl_series series;
    struct pl_shot last;
    struct pl_known *known; /* names, from one snapshot to the next; NULL before the first */
    uint64_t offset;        /* number in the name = place in the series + this */
    uint64_t failed;
};

/*
 * Takes the snapshot that is due, if one is: *path is where it went, good until the next, and NULL if there is none.
 * As pl_shot_take(); a failure leaves its place empty, and the series goes on.
 */
int pl_follow_tick(struct pl_follow *follow, const char *live, const char *root, uint64_t now_ns, const char **path,
                   char why[PL_WHY_BYTES]);

/* What was taken over is not needed any more: the process has ended. The series is kept. */
void pl_follow_rest(struct pl_follow *follow);
void pl_follow_free(struct pl_follow *follow);

/* "12 snapshots: app.0001.plim to app.0012.plim", "40 snapshots, 8 kept: ...". The caller frees it. */
char *pl_follow_words(const struct pl_follow *follow);

/* CLOCK_MONOTONIC, as in profiles. */
uint64_t pl_follow_now_ns(void);

#endif
