/* SPDX-License-Identifier: MIT */
/*
 * summary.h - the messages at the end of `plimsoll run`: what was recorded and where it is, or why nothing was.
 */
#ifndef PL_SUMMARY_H
#define PL_SUMMARY_H

#include "cli/run/collect.h"
#include "cli/run/target.h"

struct pl_summary {
    const struct pl_collection *collection;
    const struct pl_target *target;
    const char *program; /* as it was typed */
    const char *only;    /* NULL: every process */
    const char *pattern; /* --output, as given */
    const char *live;    /* the directory for live files; it may no longer exist */
    int wait_status;
    const char *out_of_memory; /* why it was probably killed for lack of memory; NULL: it was not */
    bool leaks;                /* somebody was to look what is lost, */
    bool memory;               /* and what RSS consists of */
    bool quiet;                /* print only errors */
};

void pl_summary_say(const struct pl_summary *summary);

/* The path as the user would type it here: relative if that is shorter, quoted if a shell needs it. The caller frees
 * it. */
char *pl_summary_typed(const char *path);

#endif
