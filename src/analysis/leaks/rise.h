/* SPDX-License-Identifier: MIT */
/*
 * rise.h - how live bytes grew over time, by the heap compositions of a profile.
 */
#ifndef PL_RISE_H
#define PL_RISE_H

#include "reader/profile.h"

#define PL_RISE_POINTS (PL_COMPOSITIONS + 1) /* all heap compositions, and the end */

struct pl_rise_point {
    double seconds, bytes;
};

/* Bytes per second: the median of the slopes between all pairs of points, which a few outliers do not change. */
double pl_rise_slope(const struct pl_rise_point *point, uint32_t count);

/* When the program began to clean up: at its exit, or at a late peak after which it freed most. Memory that is freed as
 * a program ends says nothing about how it grew before. */
double pl_rise_until(const struct pl_profile *profile);

/* Growth up to the peak. What a program frees afterwards does not count: many free everything as they end. */
struct pl_rise {
    bool steady; /* it grew all the time, up to the peak, and was freed after that */
    double bytes_per_s;
    double from_s; /* since when it was measured */
};

/* Of the sites with group[i] == which; `metric` has their sums. */
struct pl_rise pl_rise_to_peak(const struct pl_profile *profile, const uint32_t *group, uint32_t which,
                               const struct pl_estimate metric[PL_METRIC_COUNT]);

#endif
