/* SPDX-License-Identifier: MIT */
/*
 * measure.h - what a rule of `check` is about, measured in a profile, or in the part of it that the rule names.
 */
#ifndef PL_MEASURE_H
#define PL_MEASURE_H

#include "leftovers.h"
#include "path.h"
#include "rules.h"

struct pl_measure {
    const struct pl_profile *whole, *part;
    struct pl_suppressions *suppressions;
    struct pl_arena *arena;
    struct pl_spots *spots;         /* made when first needed, as what follows */
    struct pl_leftovers *leftovers; /* of the part */
    struct pl_paths left_paths;
    bool matched;              /* the place that the rule is about is there */
    struct pl_estimate figure; /* in the unit of the rule */
    char *cannot;              /* why there is none; NULL: there is */
    bool blind;                /* of some of it too little was seen to tell */
};

struct pl_measure pl_measure_take(const struct pl_rule *rule, const struct pl_profile *whole,
                                  struct pl_suppressions *suppressions);
void pl_measure_free(struct pl_measure *measure);

/* "31.4 MiB", "61.0%". The caller frees it. */
char *pl_measure_print(const struct pl_rule *rule, const struct pl_estimate *figure);

/* Who is most to blame for a figure, or for its growth: "worst: index_add_term src/index.c:212 (1.9 MiB)". The caller
 * frees it; NULL: nobody. */
char *pl_measure_worst(const struct pl_rule *rule, struct pl_measure *measure);
char *pl_measure_worst_growth(const struct pl_rule *rule, const struct pl_measure *before, struct pl_measure *after);

#endif
