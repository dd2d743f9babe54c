/* SPDX-License-Identifier: MIT */
/* step_figures.h - compares figures at each step of tests/lib/step.h. */
#ifndef STEP_FIGURES_H
#define STEP_FIGURES_H

#include "../../lib/step.h"
#include "account.h"

#include <stdio.h>
#include <stdlib.h>

static __attribute__((unused)) void same(const char *what, uint64_t seen, uint64_t expected)
{
    char line[256];
    if (seen == expected)
        return;
    snprintf(line, sizeof line, "%s: %llu instead of %llu, at step %ld", what, (unsigned long long) seen,
             (unsigned long long) expected, step_target);
    require(false, line);
}

static inline struct plimsoll_stats of_process(void)
{
    struct plimsoll_stats stats = {0};
    REQUIRE(plimsoll_stats(&stats, sizeof stats) == 0);
    return stats;
}

static inline struct plimsoll_stats of_tag(plimsoll_context tag)
{
    struct plimsoll_stats stats = {0};
    REQUIRE(plimsoll_tag_stats(tag, &stats, sizeof stats) == 0);
    return stats;
}

#endif
