/* SPDX-License-Identifier: MIT */
/*
 * pages.h - what html and view share: their options, and what was asked for as the page's data. That is one profile, or
 * what has changed from one to another.
 */
#ifndef PL_PAGES_H
#define PL_PAGES_H

#include <stdio.h>

#include "leaks.h"
#include "option.h"
#include "select.h"
#include "subject.h"

struct pl_pages_options {
    const char *command; /* who asks: "html" */
    struct pl_select select;
    struct pl_leaks_options leaks;
    const char *names;
    bool force, no_source;
    struct pl_suppressions *suppressions; /* pl_pages_begin() reads them */
};

/* Rows of a command's table of options; `given` is its struct pl_pages_options. */
#define PL_PAGES_OPTIONS(given)                                                                                        \
    PL_SELECT_METRIC((given).select, "live; peak, where hardly anything is live any more"),                            \
        PL_SELECT_TAG((given).select), PL_SELECT_THREAD((given).select), PL_SELECT_STACKS((given).select),             \
        PL_SELECT_TIMES((given).select), PL_SELECT_SNAPSHOT((given).select),                                           \
        {.name = "no-source",                                                                                          \
         .help = "leave out lines of source code: they are part of the page, where their files are there",             \
         .type = &pl_type_flag,                                                                                        \
         .into = &(given).no_source},                                                                                  \
        {.name = "suppressions",                                                                                       \
         .takes = "FILE",                                                                                              \
         .help = "leave out of the leaks what FILE names, in LeakSanitizer's format; may be given several times",      \
         .type = &pl_type_files,                                                                                       \
         .into = &(given).leaks.suppressions},                                                                         \
        {.name = "no-default-suppressions",                                                                            \
         .help = "show what the C and C++ libraries keep on purpose among the leaks, too",                             \
         .type = &pl_type_flag,                                                                                        \
         .into = &(given).leaks.no_defaults},                                                                          \
        PL_NAMES_OPTION((given).names), PL_FORCE_OPTION((given).force)

/* One profile, and the part of it that was asked for. */
struct pl_side {
    struct pl_profile *whole;
    struct pl_selection selection;
    char *subject;           /* as one would type it */
    double since_s, until_s; /* what of it to show first; 0: from the start, until the end */
};

struct pl_pages {
    const struct pl_pages_options *options;
    struct pl_side side[2]; /* before and after, or only the first */
    int sides;
    struct pl_profile *joined; /* of two; NULL: of one */
    char *title;
    bool live; /* its process runs, and it will be read again */
};

/* There is a page in this program, there are one or two arguments, and what options name can be read. Otherwise the
 * reason has been said. */
enum pl_exit pl_pages_begin(struct pl_pages_options *options, int argc, char **argv);
void pl_pages_end(struct pl_pages_options *options);

/* On failure the reason has been said. */
enum pl_exit pl_pages_open(struct pl_pages_options *options, int argc, char **argv, struct pl_pages *out);

/* How each of them is to be read. */
struct pl_subject_options pl_pages_reading(const struct pl_pages_options *options);

/* The same of a profile that is open already; it is taken over, also on failure. */
enum pl_exit pl_pages_take(const struct pl_pages_options *options, struct pl_profile *profile, const char *typed,
                           struct pl_pages *out);
void pl_pages_close(struct pl_pages *pages);

/* Page data (docs/page-data.md). `pages` is a struct pl_pages. */
void pl_pages_write(void *pages, FILE *out);

#endif
