/* SPDX-License-Identifier: MIT */
/*
 * rules.h - what `check` can be told to check: one table of rules, in the same words as options and in files.
 *
 *     max-peak 200M                    the whole process
 *     max-calls parse_.*=1000          what goes through such a function, as --focus would find it
 *     max-live tag:request=10M         a tag, as --tag would
 *     max-peak +5%:main.plim           5% more than that profile had
 *     no-leaks
 */
#ifndef PL_RULES_H
#define PL_RULES_H

#include <regex.h>

#include "option.h"
#include "profile.h"

enum pl_rule_unit {
    PL_UNIT_NONE, /* there is no limit to give */
    PL_UNIT_BYTES,
    PL_UNIT_COUNT,
    PL_UNIT_SHARE,
    PL_UNIT_GROWTH,
};

/*
 * X(name, word, label, unit, takes, example, help): options of `check` are made of these rows, and help of those. What
 * is measured is in measure.c, by name.
 */
#define PL_RULES(X)                                                                                                    \
    X(PEAK, "max-peak", "peak", BYTES, "[WHERE=]SIZE", "200M", "bytes that were live when the heap was largest")       \
    X(PEAK_BLOCKS, "max-peak-blocks", "peak blocks", COUNT, "[WHERE=]N", "100000", "blocks that were live then")       \
    X(LIVE, "max-live", "live", BYTES, "[WHERE=]SIZE", "50M", "bytes not freed at the end, or yet")                    \
    X(BLOCKS, "max-blocks", "blocks", COUNT, "[WHERE=]N", "10000", "blocks not freed at the end, or yet")              \
    X(NEVER_FREED, "max-never-freed", "never freed", BYTES, "[WHERE=]SIZE", "1M",                                      \
      "bytes that a process left behind when it exited, without what is suppressed")                                   \
    X(ALLOCATED, "max-allocated", "allocated", BYTES, "[WHERE=]SIZE", "2G", "bytes requested by all allocations")      \
    X(CALLS, "max-calls", "calls", COUNT, "[WHERE=]N", "'parse_.*=1000'", "allocations made")                          \
    X(TEMPORARY, "max-temporary", "temporary", SHARE, "[WHERE=]PCT", "60%",                                            \
      "share of allocations that their thread freed before its next one")                                              \
    X(RSS, "max-rss", "RSS", BYTES, "SIZE", "300M", "resident memory of the process at its highest")                   \
    X(GROWTH, "max-growth", "growth", GROWTH, "[WHERE=]PCT[:FILE]", "5%:main.plim",                                    \
      "growth of peak, live, allocated and calls since FILE, or the --baseline: four rules in one")                    \
    X(NO_LEAKS, "no-leaks", "never freed", NONE, NULL, NULL,                                                           \
      "nothing was left behind, but for what is suppressed: as --max-never-freed 0")                                   \
    X(NO_SUSPECTS, "no-suspected-leaks", "suspected leaks", NONE, NULL, NULL,                                          \
      "nothing is left from all of the run, and more all the time")

enum pl_rule_kind {
#define PL_ENUM(name, word, label, unit, takes, example, help) PL_RULE_##name,
    PL_RULES(PL_ENUM)
#undef PL_ENUM
        PL_RULE_KINDS
};

struct pl_rule_info {
    const char *word, *label, *takes, *example;
    enum pl_rule_unit unit;
};
extern const struct pl_rule_info pl_rule_info[PL_RULE_KINDS];

enum pl_rule_where {
    PL_WHERE_ALL,
    PL_WHERE_FUNCTION,
    PL_WHERE_TAG,
    PL_WHERE_THREAD,
};

struct pl_rule {
    enum pl_rule_kind kind;
    char *text;  /* as it is written in a file: "max-calls parse_.*=1000" */
    char *typed; /* the same, or where it is one of several that were written as one, that: "max-growth 5%" */
    enum pl_rule_where where;
    char *place;      /* as typed, "tag:request"; NULL for PL_WHERE_ALL */
    const char *name; /* without what kind of place it is */
    regex_t regex;    /* of functions or threads */
    double limit;     /* bytes, a count, or a fraction; of a relative one, the fraction it may grow by */
    bool relative;    /* to a baseline */
    char *baseline;   /* its file; NULL: that of --baseline */
    /* Filled in by who applies it. */
    const struct pl_profile *base;
    uint32_t matched; /* so many profiles had something there */
    bool sampled;     /* some of those that had not may just not have been seen there */
};

struct pl_rules {
    struct pl_rule *rule;
    uint32_t count, capacity;
};

/* `word` is that of a row, `value` NULL for none. -EINVAL: `why` says what is wrong, and what to write instead. */
int pl_rules_add(struct pl_rules *rules, const char *word, const char *value, char why[PL_WHY_BYTES]);

/* A file of rules, one a line, with comments (#). `why` names file and line. */
int pl_rules_read(struct pl_rules *rules, const char *path, char why[PL_WHY_BYTES]);

void pl_rules_free(struct pl_rules *rules);

#endif
