/* SPDX-License-Identifier: MIT */
/*
 * page_data.h - a profile as the HTML page reads it.
 */
#ifndef PL_PAGE_DATA_H
#define PL_PAGE_DATA_H

#include <stdio.h>

#include "analysis/leaks/suppress.h"
#include "reader/profile.h"

/* What to show, and what the page says besides the profile's figures. Texts may be NULL. */
struct pl_page_about {
    const char *selection;                /* which part of a profile this is, in words; NULL: all of it */
    enum pl_metric metric;                /* to show first */
    const char *subject;                  /* the file or the pid, as the user would type it */
    const char *title;                    /* "indexer data/": the program and how it was called */
    const char *title_live;               /* "Live", "Never freed": the title of live memory */
    bool live;                            /* a running process: the page will be updated */
    double since_s, until_s;              /* the range of time to show first; 0: from the start, until the end */
    bool no_sources;                      /* no lines of source code */
    struct pl_suppressions *suppressions; /* of leaks; NULL: the built-in ones */
    /* Of a difference of two profiles: both, and the name of the first. */
    const struct pl_profile *before, *after;
    const char *before_subject;
};

/* Columns are written as they are; the JSON text and the tree of calls are built in memory. Errors stay in the stream
 * (ferror). */
void pl_page_data_write(const struct pl_profile *profile, const struct pl_page_about *about, FILE *out);

#endif
