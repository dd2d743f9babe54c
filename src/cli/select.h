/* SPDX-License-Identifier: MIT */
/*
 * select.h - which part of a profile is meant, and in which order: --tag, --thread, --focus, --ignore, --since,
 * --until,
 * --snapshot, --merge-threads, --metric.
 *
 * Each option is declared here, once, and every command that takes it has it in its table by the same row. What they
 * choose is a profile of its own, so that views and exports need not know that there was a choice.
 */
#ifndef PL_SELECT_H
#define PL_SELECT_H

#include <regex.h>

#include "groups.h"
#include "option.h"
#include "profile.h"

#define PL_SELECT_NO_METRIC (-1)

struct pl_select {
    int metric;            /* index into pl_select_metric_words; PL_SELECT_NO_METRIC: none was given */
    const char *tag;       /* as typed, as the next two; NULL: all */
    const char *thread;    /* regular expression, somewhere in a name */
    const char *merge;     /* regular expression, a whole name */
    const char *focus;     /* regular expression: stacks that go through such a place */
    const char *ignore;    /* and those that do not */
    bool may_be_empty;     /* what was chosen need not be there */
    const char *snapshot;  /* name of a snapshot beside the file */
    uint64_t since, until; /* nanoseconds; PL_SELECT_NO_TIME */
};
#define PL_SELECT_NO_TIME UINT64_MAX
#define PL_SELECT_NOTHING                                                                                              \
    {                                                                                                                  \
        .metric = PL_SELECT_NO_METRIC, .since = PL_SELECT_NO_TIME, .until = PL_SELECT_NO_TIME                          \
    }

/* Both spellings of each metric: the words of reports, then the keys of JSON; NULL ends them. */
extern const char *const pl_select_metric_words[];

/* Rows of a command's table of options; `given` is its struct pl_select. */
#define PL_SELECT_METRIC(given, fallback_)                                                                             \
    {                                                                                                                  \
        .name = "metric", .letter = 'm', .takes = "METRIC", .fallback = fallback_,                                     \
        .help = "which figure, and the order: live, allocated, calls, blocks, peak, peak-blocks or temporary",         \
        .type = &pl_type_choice, .into = &(given).metric, .choices = pl_select_metric_words,                           \
        .offered = PL_METRIC_COUNT                                                                                     \
    }
#define PL_SELECT_TAG(given)                                                                                           \
    {                                                                                                                  \
        .name = "tag", .takes = "NAME", .fallback = "all",                                                             \
        .help = "only what was allocated under this tag, and tags below it: its name, or its path or the end of one "  \
                "(request/parse); `(no tag)`, `(off)` and `(paused)` are names, too",                                  \
        .type = &pl_type_text, .into = &(given).tag                                                                    \
    }
#define PL_SELECT_THREAD(given)                                                                                        \
    {                                                                                                                  \
        .name = "thread", .takes = "REGEX", .fallback = "all",                                                         \
        .help = "only threads with names in which this regular expression is found", .type = &pl_type_text,            \
        .into = &(given).thread                                                                                        \
    }
#define PL_SELECT_MERGE(given)                                                                                         \
    {                                                                                                                  \
        .name = "merge-threads", .takes = "REGEX",                                                                     \
        .help = "take threads together whose whole names this regular expression matches, as `worker-.*`",             \
        .type = &pl_type_text, .into = &(given).merge                                                                  \
    }

#define PL_SELECT_STACKS(given)                                                                                        \
    {.name = "focus",                                                                                                  \
     .takes = "REGEX",                                                                                                 \
     .fallback = "all",                                                                                                \
     .help = "only stacks with a function, a source file or a module in whose name this regular expression is found",  \
     .type = &pl_type_text,                                                                                            \
     .into = &(given).focus},                                                                                          \
    {                                                                                                                  \
        .name = "ignore", .takes = "REGEX", .fallback = "none", .help = "only stacks without one",                     \
        .type = &pl_type_text, .into = &(given).ignore                                                                 \
    }
#define PL_SELECT_SNAPSHOT(given)                                                                                      \
    {                                                                                                                  \
        .name = "snapshot", .takes = "NAME",                                                                           \
        .help = "instead of FILE, the snapshot of the same process with this name, or number, in the same directory",  \
        .type = &pl_type_text, .into = &(given).snapshot                                                               \
    }
#define PL_SELECT_TIMES(given)                                                                                         \
    {.name = "since",                                                                                                  \
     .takes = "TIME",                                                                                                  \
     .fallback = "the start",                                                                                          \
     .help = "only what was allocated after so much time (3s, 500ms, 2m), and what has become of live memory since: "  \
             "figures may be negative",                                                                                \
     .type = &pl_type_instant,                                                                                         \
     .into = &(given).since,                                                                                           \
     .example = "3s"},                                                                                                 \
    {                                                                                                                  \
        .name = "until", .takes = "TIME", .fallback = "the end", .help = "only what was allocated before",             \
        .type = &pl_type_instant, .into = &(given).until, .example = "10s"                                             \
    }

/* The metric that was chosen, or else this one. */
enum pl_metric pl_select_metric(const struct pl_select *select, enum pl_metric otherwise);

struct pl_selection {
    const struct pl_profile *profile; /* of what was chosen; the whole one if nothing was */
    char *words;                      /* "tag request/parse; threads like worker"; NULL: everything */
    struct pl_arena *arena;
};

/* On failure the reason, and what there is to choose from, has been said. `subject` is the file or the pid, as one
 * would type it. */
enum pl_exit pl_select_apply(const struct pl_select *select, const struct pl_profile *whole, const char *subject,
                             struct pl_selection *out);
void pl_selection_free(struct pl_selection *selection);

/* The moments that --since and --until are nearest to (instant.h). On failure the reason has been said. */
bool pl_select_in_time(const struct pl_select *select);
enum pl_exit pl_select_moments(const struct pl_select *select, const struct pl_profile *profile, int *first, int *last);

/* What to open instead of `typed`: it, or the snapshot that was asked for; the caller frees it. NULL: there is none,
 * and that has been said. */
char *pl_select_file(const struct pl_select *select, const char *typed);

/* Marks the tags that answer to a name, and all that is below them. Returns how many answer; `one` is one of those. */
uint32_t pl_select_tags(const struct pl_profile *profile, const char *typed, bool *in, uint32_t *one);

/* Leaves in `in` the stacks that go through a place that matches, or those that do not. Returns how many are left. */
uint32_t pl_select_stacks(const struct pl_profile *profile, const regex_t *regex, bool through, bool *in);

/* Threads of a profile that was selected from already, with --merge-threads; an expression that is none is complained
 * of.
 */
enum pl_exit pl_select_groups(const struct pl_select *select, const struct pl_profile *profile,
                              enum pl_grouping grouping, struct pl_groups *out);

#endif
