/* SPDX-License-Identifier: MIT */
/*
 * measure.h - measures the figure of a rule of `check`, in a profile or in the part of it that the rule names.
 */
#ifndef PL_MEASURE_H
#define PL_MEASURE_H

#include "analysis/leaks/leftovers.h"
#include "analysis/path.h"
#include "cli/check/checkrules.h"

struct pl_measure {
    const struct pl_profile *whole, *part;
    struct pl_suppressions *suppressions;
    struct pl_arena *arena;
    struct pl_locations *locations; /* made when first needed, like the next two */
    struct pl_leftovers *leftovers; /* of the part */
    struct pl_paths left_paths;
    bool matched;              /* the profile has a match for the rule's WHERE */
    struct pl_estimate figure; /* in the unit of the rule */
    char *cannot;              /* why there is no figure; NULL: there is one */
    bool blind;                /* some sites have too few samples to tell */
};

struct pl_measure pl_measure_take(const struct pl_checkrule *rule, const struct pl_profile *whole,
                                  struct pl_suppressions *suppressions);
void pl_measure_free(struct pl_measure *measure);

/* "31.4 MiB", "61.0%". The caller frees it. */
char *pl_measure_print(const struct pl_checkrule *rule, const struct pl_estimate *figure);

/* The site that contributes most to a figure, or to its growth: "worst: index_add_term src/index.c:212 (1.9 MiB)".
 * NULL: none. The caller frees it. */
char *pl_measure_worst(const struct pl_checkrule *rule, struct pl_measure *measure);
char *pl_measure_worst_growth(const struct pl_checkrule *rule, const struct pl_measure *before,
                              struct pl_measure *after);

#endif
