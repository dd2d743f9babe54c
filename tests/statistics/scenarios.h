/* SPDX-License-Identifier: MIT */
/*
 * scenarios.h - the programs over which the claims of docs/maths.md are made, one row each.
 *
 * A scenario is run at a number of expected samples, many times, with a different seed and a slightly different length
 * each time (up to a quarter more): counts are discrete, so at one fixed length coverage is as much a matter of where
 * the truth falls between two possible counts as of the interval.
 */
#ifndef SCENARIOS_H
#define SCENARIOS_H

#include "simulation.h"

struct scenario {
    const char *name;
    uint64_t sizes;
    uint64_t (*size_of)(uint64_t i);
    uint64_t interval;
    uint64_t per_thread;  /* allocations of each thread; 0: one thread does it all */
    double from;          /* expected samples from which coverage is claimed on both sides */
    double most;          /* expected samples up to which a test can afford it */
    bool calls_uncovered; /* sizes so far apart at one site that the interval of calls is a lie */
};

extern const struct scenario scenarios[];
extern const unsigned scenario_count;

void scenario_run(const struct scenario *scenario, double samples, unsigned runs, struct tally tally[METRICS]);

#endif
