/* SPDX-License-Identifier: MIT */
/*
 * checkrules.h - the rules of `check`: one table, for options and for files.
 *
 *     max-peak 200M                    the whole process
 *     max-calls parse_.*=1000          stacks with a matching function, as with --focus
 *     max-live tag:request=10M         a tag, as with --tag
 *     max-peak +5%:main.plim           5% more than that profile has
 *     no-leaks
 */
#ifndef PL_CHECKRULES_H
#define PL_CHECKRULES_H

#include <regex.h>

#include "cli/option.h"
#include "reader/profile.h"

enum pl_checkrule_unit {
    PL_UNIT_NONE, /* the rule takes no limit */
    PL_UNIT_BYTES,
    PL_UNIT_COUNT,
    PL_UNIT_SHARE,
    PL_UNIT_GROWTH,
};

/*
 * X(name, word, label, unit, takes, example, help): each row becomes an option of `check`. measure.c has the function
 * that measures it, by name.
 */
#define PL_CHECKRULES(X)                                                                                               \
    X(PEAK, "max-peak", "peak", BYTES, "[WHERE=]SIZE", "200M",                                                         \
      "limit on the peak: bytes live when the heap was largest")                                                       \
    X(PEAK_BLOCKS, "max-peak-blocks", "peak blocks", COUNT, "[WHERE=]N", "100000",                                     \
      "limit on the blocks live at the peak")                                                                          \
    X(LIVE, "max-live", "live", BYTES, "[WHERE=]SIZE", "50M", "limit on the bytes live at the end, or now")            \
    X(BLOCKS, "max-blocks", "blocks", COUNT, "[WHERE=]N", "10000", "limit on the blocks live at the end, or now")      \
    X(NEVER_FREED, "max-never-freed", "never freed", BYTES, "[WHERE=]SIZE", "1M",                                      \
      "limit on the bytes never freed before exit, after suppressions")                                                \
    X(ALLOCATED, "max-allocated", "allocated", BYTES, "[WHERE=]SIZE", "2G",                                            \
      "limit on the bytes requested by all allocations")                                                               \
    X(CALLS, "max-calls", "calls", COUNT, "[WHERE=]N", "'parse_.*=1000'", "limit on the number of allocations")        \
    X(TEMPORARY, "max-temporary", "temporary", SHARE, "[WHERE=]PCT", "60%",                                            \
      "limit on the share of temporary allocations: freed by their thread before its next one")                        \
    X(RSS, "max-rss", "RSS", BYTES, "SIZE", "300M", "limit on the highest RSS recorded")                               \
    X(GROWTH, "max-growth", "growth", GROWTH, "[WHERE=]PCT[:FILE]", "5%:main.plim",                                    \
      "limit on the growth of peak, live, allocated and calls vs FILE, or the --baseline: four rules in one")          \
    X(NO_LEAKS, "no-leaks", "never freed", NONE, NULL, NULL,                                                           \
      "fail if anything was never freed, after suppressions; same as --max-never-freed 0")                             \
    X(LOST, "max-lost", "lost", BYTES, "[WHERE=]SIZE", "1M",                                                           \
      "limit on the bytes that nothing leads to any more, in a profile of run --leaks")                                \
    X(NO_LOST, "no-lost", "lost blocks", NONE, NULL, NULL,                                                             \
      "fail if there are blocks that nothing leads to any more, in a profile of run --leaks")                          \
    X(NO_SUSPECTS, "no-suspected-leaks", "suspected leaks", NONE, NULL, NULL,                                          \
      "fail if there are leak suspects: sites whose old blocks survive and new ones accumulate")

enum pl_checkrule_kind {
#define PL_ENUM(name, word, label, unit, takes, example, help) PL_CHECKRULE_##name,
    PL_CHECKRULES(PL_ENUM)
#undef PL_ENUM
        PL_CHECKRULE_KINDS
};

struct pl_checkrules_info {
    const char *word, *label, *takes, *example;
    enum pl_checkrule_unit unit;
};
extern const struct pl_checkrules_info pl_checkrules_info[PL_CHECKRULE_KINDS];

enum pl_checkrule_where {
    PL_WHERE_ALL,
    PL_WHERE_FUNCTION,
    PL_WHERE_TAG,
    PL_WHERE_THREAD,
};

struct pl_checkrule {
    enum pl_checkrule_kind kind;
    char *text;  /* as in a file: "max-calls parse_.*=1000" */
    char *typed; /* the same; for the four rules that max-growth stands for: "max-growth 5%" */
    enum pl_checkrule_where where;
    char *place;      /* as typed, "tag:request"; NULL for PL_WHERE_ALL */
    const char *name; /* the place without its prefix: "request" */
    regex_t regex;    /* of functions or threads */
    double limit;     /* bytes, a count, or a fraction; if relative, the fraction that the figure may grow by */
    bool relative;    /* to a baseline */
    char *baseline;   /* its file; NULL: that of --baseline */
    /* Filled in by the code that applies the rule. */
    const struct pl_profile *base;
    uint32_t matched; /* number of profiles in which the place was found */
    bool sampled;     /* it was not found in a sampled profile, which may have missed it */
};

struct pl_checkrules {
    struct pl_checkrule *rule;
    uint32_t count, capacity;
};

/* `word` is that of a row; `value` may be NULL. -EINVAL: `why` says what is wrong, and what to write instead. */
int pl_checkrules_add(struct pl_checkrules *rules, const char *word, const char *value, char why[PL_WHY_BYTES]);

/* Reads a file of rules, one per line, with comments (#). `why` names file and line. */
int pl_checkrules_read(struct pl_checkrules *rules, const char *path, char why[PL_WHY_BYTES]);

void pl_checkrules_free(struct pl_checkrules *rules);

#endif
