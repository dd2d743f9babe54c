/* SPDX-License-Identifier: MIT */
/*
 * select.h - which part of a profile is meant, and in which order: --tag, --thread, --merge-threads, --metric.
 *
 * Each option is declared here, once, and every command that takes it has it in its table by the same row. What they
 * choose is a profile of its own, so that views and exports need not know that there was a choice.
 */
#ifndef PL_SELECT_H
#define PL_SELECT_H

#include "groups.h"
#include "option.h"
#include "profile.h"

#define PL_SELECT_NO_METRIC (-1)

struct pl_select {
    int metric;         /* index into pl_select_metric_words; PL_SELECT_NO_METRIC: none was given */
    const char *tag;    /* as typed, as the next two; NULL: all */
    const char *thread; /* regular expression, somewhere in a name */
    const char *merge;  /* regular expression, a whole name */
};
#define PL_SELECT_NOTHING                                                                                              \
    {                                                                                                                  \
        .metric = PL_SELECT_NO_METRIC                                                                                  \
    }

/* Both spellings of each metric: the words of reports, then the keys of JSON; NULL ends them. */
extern const char *const pl_select_metric_words[];

/* Rows of a command's table of options; `given` is its struct pl_select. */
#define PL_SELECT_METRIC(given, fallback_)                                                                             \
    {                                                                                                                  \
        .name = "metric", .letter = 'm', .takes = "METRIC", .fallback = fallback_,                                     \
        .help = "what to sort by: live, allocated, calls, blocks, peak, peak-blocks or temporary",                     \
        .type = &pl_type_choice, .into = &(given).metric, .choices = pl_select_metric_words                            \
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

/* Threads of a profile that was selected from already, with --merge-threads; an expression that is none is complained
 * of.
 */
enum pl_exit pl_select_groups(const struct pl_select *select, const struct pl_profile *profile,
                              enum pl_grouping grouping, struct pl_groups *out);

#endif
