/* SPDX-License-Identifier: MIT */
/*
 * pages.h - what html and view share: their options, and the page data of one profile or of the difference of two.
 */
#ifndef PL_PAGES_H
#define PL_PAGES_H

#include <stdio.h>

#include "cli/option.h"
#include "cli/report/leaks.h"
#include "cli/select.h"
#include "cli/subject.h"

struct pl_pages_options {
    const char *command; /* for messages: "html" */
    struct pl_select select;
    struct pl_leaks_options leaks;
    const char *names;
    bool force, no_source, python, native;
    const char *sysroot;
    struct pl_suppressions *suppressions; /* pl_pages_begin() reads them */
};

/* Rows of a command's table of options; `given` is its struct pl_pages_options. */
#define PL_PAGES_OPTIONS(given)                                                                                        \
    PL_SELECT_METRIC((given).select, "live; peak if hardly anything is live"), PL_SELECT_HEAP((given).select),         \
        PL_SELECT_TAG((given).select), PL_SELECT_THREAD((given).select), PL_SELECT_STACKS((given).select),             \
        PL_SELECT_TIMES((given).select), PL_SELECT_SNAPSHOT((given).select),                                           \
        {.name = "no-source",                                                                                          \
         .help = "leave out source lines, which the page otherwise includes if their files exist",                     \
         .type = &pl_type_flag,                                                                                        \
         .into = &(given).no_source},                                                                                  \
        {.name = "suppressions",                                                                                       \
         .takes = "FILE",                                                                                              \
         .help = "exclude leaks that FILE lists in LeakSanitizer's format; may be repeated",                           \
         .type = &pl_type_files,                                                                                       \
         .into = &(given).leaks.suppressions},                                                                         \
        {.name = "no-default-suppressions",                                                                            \
         .help = "include memory that system libraries keep on purpose among the leaks",                               \
         .type = &pl_type_flag,                                                                                        \
         .into = &(given).leaks.no_defaults},                                                                          \
        PL_LANGUAGE_OPTIONS((given).python, (given).native), PL_NAMES_OPTION((given).names),                           \
        PL_FORCE_OPTION((given).force), PL_SYSROOT_OPTION((given).sysroot)

/* One profile, and the part of it that options select. */
struct pl_side {
    struct pl_selection selection;
    double since_s, until_s; /* the time range that the page shows first; 0: from the start, until the end */
};

struct pl_pages {
    const struct pl_pages_options *options;
    struct pl_side side[2]; /* before and after, or only the first */
    int sides;
    struct pl_profile *joined; /* of two; NULL: of one */
    char *title;
    bool live; /* the process is running, and the profile will be read again */
};

/* Checks that there are one or two arguments, and reads the suppressions. On failure it has printed the reason. */
enum pl_exit pl_pages_begin(struct pl_pages_options *options, int argc, char **argv);
void pl_pages_end(struct pl_pages_options *options);

/* On failure it has printed the reason. */
enum pl_exit pl_pages_open(struct pl_pages_options *options, int argc, char **argv, struct pl_pages *out);

/* How to read each profile. */
struct pl_subject_options pl_pages_reading(const struct pl_pages_options *options);

/* pl_pages_open() for a profile that is already open. Takes ownership of it, also on failure. */
enum pl_exit pl_pages_take(const struct pl_pages_options *options, struct pl_profile *profile, const char *typed,
                           struct pl_pages *out);
void pl_pages_close(struct pl_pages *pages);

/* Page data (docs/page-data.md). `pages` is a struct pl_pages. */
void pl_pages_write(void *pages, FILE *out);

#endif
