/* SPDX-License-Identifier: MIT */
/*
 * judge.h - decides whether a group of stacks looks like a leak.
 */
#ifndef PL_JUDGE_H
#define PL_JUDGE_H

#include "analysis/leaks/leftovers.h"

/* The sum over a group of stacks. */
struct pl_pile {
    struct pl_figures figures;
    struct pl_spread spread;
    double seen[PL_COMPOSITIONS]; /* live bytes in each of the profile's heap compositions; 0: not recorded there */
    double held[PL_COMPOSITIONS]; /* and live blocks */
};

/* Witnesses are the live blocks that were counted, plus the live samples. */
double pl_judge_witnesses(const struct pl_figures *figures);

/* The number of age classes in use. */
uint32_t pl_judge_classes(const struct pl_profile *profile);

/* Whether the run was long enough to tell steady growth from a program's start. */
bool pl_judge_timed(const struct pl_profile *profile);

/* Fills all fields of a leftover except group, stack and stacks. */
void pl_judge(const struct pl_profile *profile, const struct pl_pile *pile, enum pl_leftover_ending ending,
              struct pl_leftover *out);

#endif
