/* SPDX-License-Identifier: MIT */
/*
 * pairs.h - a site that did the same in two runs, sampled each time anew: how often would it be called changed?
 *
 * The runs are simulated with the real sampler (tests/statistics/simulation.h), the answer is that of
 * src/analysis/significance.c.
 */
#ifndef PAIRS_H
#define PAIRS_H

#include "scenarios.h"

/* The chances at which p is looked at: of pairs that are the same, no larger share may have a p that small. */
#define PAIRS_LEVELS 4
extern const double pairs_level[PAIRS_LEVELS];

struct pairs {
    double seen; /* pairs in which at least one run has a sample: others nobody compares */
    double at[METRICS][PAIRS_LEVELS];
};

/* `before` and `after` are the intervals, EXACT for a run in which everything was counted; `samples` are expected
 * before (or after, if that was exact); `growth` is what the second run did more, 1 for the same. */
struct pairs pairs_run(const struct scenario *scenario, uint64_t before, uint64_t after, double samples, double growth,
                       unsigned pairs);

#endif
