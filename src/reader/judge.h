/* SPDX-License-Identifier: MIT */
/*
 * judge.h - what speaks for a leak, in what is known of some stacks together.
 */
#ifndef PL_JUDGE_H
#define PL_JUDGE_H

#include "leftovers.h"

/* What is known of some stacks together. */
struct pl_pile {
    struct pl_figures figures;
    struct pl_spread spread;
    double seen[PL_SNAPSHOTS]; /* bytes in each of the profile's snapshots; 0: not named there */
};

/* How many live blocks were witnessed: all that were counted, and samples. */
double pl_judge_witnesses(const struct pl_figures *figures);

/* Age classes in use. */
uint32_t pl_judge_classes(const struct pl_profile *profile);

/* The run was long enough to tell growth from a start. */
bool pl_judge_timed(const struct pl_profile *profile);

/* Everything of a leftover but group and stacks. */
void pl_judge(const struct pl_profile *profile, const struct pl_pile *pile, enum pl_leftover_ending ending,
              struct pl_leftover *out);

#endif
