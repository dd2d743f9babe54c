/* SPDX-License-Identifier: MIT */
/*
 * figures.h - arithmetic on sums, amounts and figures: adding, and subtracting without leaving rounding errors.
 */
#ifndef PL_FIGURES_H
#define PL_FIGURES_H

#include "reader/profile.h"

/* An exact figure. */
static inline struct pl_estimate pl_estimate_exactly(double value)
{
    return (struct pl_estimate){.value = value, .low = value, .high = value};
}

/* The exact part plus the estimated part. */
static inline double pl_amount_objects(const struct pl_amount *amount)
{
    return amount->exact_objects + amount->sampled.objects;
}

static inline double pl_amount_space(const struct pl_amount *amount)
{
    return amount->exact_space + amount->sampled.space;
}

void pl_sums_join(struct pl_sums *to, const struct pl_sums *more);

/* Sums over the samples of `from` that are not in `what`. Without samples left, all sums are 0. */
struct pl_sums pl_sums_rest(const struct pl_sums *from, const struct pl_sums *what);

void pl_amount_add(struct pl_amount *to, const struct pl_amount *more);
struct pl_amount pl_amount_rest(const struct pl_amount *from, const struct pl_amount *what);

/* Makes `part` at most `whole`, in each of its sums. */
void pl_amount_cap(struct pl_amount *part, const struct pl_amount *whole);

/* Is every component of `part` between 0 and that of `whole`? */
bool pl_amount_within(const struct pl_amount *part, const struct pl_amount *whole);

#endif
