/* SPDX-License-Identifier: MIT */
/*
 * pairs.h - how often is a site called changed although it did the same in two sampled runs?
 *
 * The real sampler simulates the runs (tests/statistics/simulation.h), and src/analysis/diff/significance.c decides.
 */
#ifndef PAIRS_H
#define PAIRS_H

#include "scenarios.h"

/* The levels of p that are examined: the share of equal pairs with such a small p must not exceed the level. */
#define PAIRS_LEVELS 4
extern const double pairs_level[PAIRS_LEVELS];

struct pairs {
    double seen; /* pairs with a sample in at least one run; others are not compared */
    double at[METRICS][PAIRS_LEVELS];
};

/* `before` and `after` are the intervals, EXACT for an exact run. `samples` is the expected number before (or after, if
 * before is exact). `growth` is the factor by which the second run did more, 1 for the same. */
struct pairs pairs_run(const struct scenario *scenario, uint64_t before, uint64_t after, double samples, double growth,
                       unsigned pairs);

#endif
