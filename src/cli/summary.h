/* SPDX-License-Identifier: MIT */
/*
 * summary.h - the last words of `plimsoll run`: what was recorded and where it is, or why nothing was.
 */
#ifndef PL_SUMMARY_H
#define PL_SUMMARY_H

#include "collect.h"
#include "target.h"

struct pl_summary {
    const struct pl_collection *collection;
    const struct pl_target *target;
    const char *program; /* as it was typed */
    const char *only;    /* NULL: every process */
    const char *pattern; /* where profiles were to go, as given */
    const char *live;    /* the directory for live files; it may be gone */
    int wait_status;
    bool quiet; /* say only what went wrong */
};

void pl_summary_say(const struct pl_summary *summary);

/* The path as a person here would type it: relative where that is shorter, quoted where a shell needs it. Freed by
 * caller. */
char *pl_summary_typed(const char *path);

/* A bound for --max-file that gives a file of this size room to grow: "256M". Freed by caller. */
char *pl_summary_bound(uint64_t file_bytes);

#endif
