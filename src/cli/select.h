/* SPDX-License-Identifier: MIT */
/*
 * select.h - the options that select a part of a profile and its order: --heap, --tag, --thread, --focus, --ignore,
 * --since,
 * --until, --snapshot, --merge-threads, --metric.
 *
 * Each option is declared here, once; the commands that take it put the same row into their tables. The selected part
 * is a profile of its own, so views and exports need not know about selections.
 */
#ifndef PL_SELECT_H
#define PL_SELECT_H

#include <regex.h>

#include "cli/option.h"
#include "analysis/groups.h"
#include "reader/profile.h"

#define PL_SELECT_NO_METRIC (-1)

struct pl_select {
    int metric;            /* index into pl_select_metric_words; PL_SELECT_NO_METRIC: none was given */
    const char *heap;      /* as typed; NULL: malloc's */
    const char *tag;       /* as typed, like the next four; NULL: all */
    const char *thread;    /* regular expression; it may match any part of a name */
    const char *merge;     /* regular expression; it must match a whole name */
    const char *focus;     /* regular expression: include only stacks with a match */
    const char *ignore;    /* regular expression: exclude stacks with a match */
    bool may_be_empty;     /* an empty selection is no error */
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
        .help = "figure to show and sort by: live, allocated, calls, blocks, peak, peak-blocks, temporary, lost or "   \
                "lost-blocks",                                                                                         \
        .type = &pl_type_choice, .into = &(given).metric, .choices = pl_select_metric_words,                           \
        .offered = PL_METRIC_COUNT                                                                                     \
    }
#define PL_SELECT_HEAP(given)                                                                                          \
    {                                                                                                                  \
        .name = "heap", .takes = "NAME", .fallback = "malloc",                                                         \
        .help = "show another heap instead of malloc's: `mappings` is what the program maps itself",                   \
        .type = &pl_type_text, .into = &(given).heap                                                                   \
    }
#define PL_SELECT_TAG(given)                                                                                           \
    {                                                                                                                  \
        .name = "tag", .takes = "NAME", .fallback = "all",                                                             \
        .help = "only allocations under this tag and the tags below it; name, path or path suffix (request/parse), "   \
                "or `(no tag)`, `(off)` or `(paused)`",                                                                \
        .type = &pl_type_text, .into = &(given).tag                                                                    \
    }
#define PL_SELECT_THREAD(given)                                                                                        \
    {                                                                                                                  \
        .name = "thread", .takes = "REGEX", .fallback = "all", .help = "only threads whose names match",               \
        .type = &pl_type_text, .into = &(given).thread                                                                 \
    }
#define PL_SELECT_MERGE(given)                                                                                         \
    {                                                                                                                  \
        .name = "merge-threads", .takes = "REGEX",                                                                     \
        .help = "combine threads whose whole names match, for example `worker-.*`", .type = &pl_type_text,             \
        .into = &(given).merge                                                                                         \
    }

#define PL_SELECT_STACKS(given)                                                                                        \
    {.name = "focus",                                                                                                  \
     .takes = "REGEX",                                                                                                 \
     .fallback = "all",                                                                                                \
     .help = "only stacks with a function, source file or module that matches",                                        \
     .type = &pl_type_text,                                                                                            \
     .into = &(given).focus},                                                                                          \
    {                                                                                                                  \
        .name = "ignore", .takes = "REGEX", .fallback = "none", .help = "exclude stacks that match",                   \
        .type = &pl_type_text, .into = &(given).ignore                                                                 \
    }
#define PL_SELECT_SNAPSHOT(given)                                                                                      \
    {                                                                                                                  \
        .name = "snapshot", .takes = "NAME",                                                                           \
        .help = "read the snapshot with this name or number instead of FILE, from FILE's directory",                   \
        .type = &pl_type_text, .into = &(given).snapshot                                                               \
    }
#define PL_SELECT_TIMES(given)                                                                                         \
    {.name = "since",                                                                                                  \
     .takes = "TIME",                                                                                                  \
     .fallback = "the start",                                                                                          \
     .help = "only allocations after this time (3s, 500ms, 2m); live figures are changes since then and may be "       \
             "negative",                                                                                               \
     .type = &pl_type_instant,                                                                                         \
     .into = &(given).since,                                                                                           \
     .example = "3s"},                                                                                                 \
    {                                                                                                                  \
        .name = "until", .takes = "TIME", .fallback = "the end", .help = "only allocations before this time",          \
        .type = &pl_type_instant, .into = &(given).until, .example = "10s"                                             \
    }

/* The metric that was given, or else this one. */
enum pl_metric pl_select_metric(const struct pl_select *select, enum pl_metric otherwise);

/* A profile that the user gave, and the part of it that options select. */
struct pl_selection {
    struct pl_profile *whole; /* the heap that was chosen */
    struct pl_profile *opened;
    const struct pl_profile *profile; /* the selected part; `whole` if no option was given */
    char *words;                      /* "tag request/parse; threads matching worker"; NULL: everything */
    char *subject;                    /* the file or the pid, as the user would type it */
    struct pl_arena *arena;
};

/* Takes ownership of the profile, also on failure. On failure the error has been printed, with the names that exist. */
enum pl_exit pl_select_take(const struct pl_select *select, struct pl_profile *whole, const char *typed,
                            struct pl_selection *out);
void pl_select_free(struct pl_selection *selection);

/* The moments that are nearest to --since and --until (instant.h). On failure the error has been printed. */
bool pl_select_in_time(const struct pl_select *select);
enum pl_exit pl_select_moments(const struct pl_select *select, const struct pl_profile *profile, int *first, int *last);

/* Marks the tags that match a name, and all tags below them. Returns how many match; `one` is one of those. */
uint32_t pl_select_tags(const struct pl_profile *profile, const char *typed, bool *in, uint32_t *one);

/* Keeps in `in` the stacks with a match, or with `through` false those without. Returns how many are left. */
uint32_t pl_select_stacks(const struct pl_profile *profile, const regex_t *regex, bool through, bool *in);

/* Groups the threads of a selected profile, with --merge-threads. Reports an invalid regular expression. */
enum pl_exit pl_select_groups(const struct pl_select *select, const struct pl_profile *profile,
                              enum pl_grouping grouping, struct pl_groups *out);

/* The same by name, as reports show threads: see analysis/groups.h. */
enum pl_exit pl_select_threads(const struct pl_select *select, const struct pl_profile *profile, struct pl_groups *out);

#endif
