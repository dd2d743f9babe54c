/* SPDX-License-Identifier: MIT */
/*
 * scenarios.h - the programs for which the claims of docs/maths.md are made, one row each.
 *
 * A scenario runs many times with a given number of expected samples, each time with another seed and a slightly
 * different length (up to a quarter more). Counts are discrete: with one fixed length coverage would depend as much on
 * where the true value lies between two possible counts as on the interval.
 */
#ifndef SCENARIOS_H
#define SCENARIOS_H

#include "simulation.h"

struct scenario {
    const char *name;
    uint64_t sizes;
    uint64_t (*size_of)(uint64_t i);
    uint64_t interval;
    uint64_t per_thread;  /* allocations of each thread; 0: one thread does everything */
    double from;          /* expected samples from which coverage is claimed on both sides */
    double most;          /* expected samples up to which a test can afford it */
    bool calls_uncovered; /* sizes at one site differ so much that the interval of calls is wrong */
};

extern const struct scenario scenarios[];
extern const unsigned scenario_count;

void scenario_run(const struct scenario *scenario, double samples, unsigned runs, struct tally tally[METRICS]);

#endif
