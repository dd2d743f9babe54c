/* SPDX-License-Identifier: MIT */
/*
 * peakrange.h - which other moments may have been the peak, how much sites held then, and how much too high the
 * estimated peak is.
 */
#ifndef PL_PEAKRANGE_H
#define PL_PEAKRANGE_H

#include "reader/profile.h"

/* How certain the peak of a site is, and by how much selection has made it too high. */
struct pl_peak_correction {
    struct pl_peakrange range;
    double objects, space;
};

/* Moments, heap compositions and peaks must have been set. `gap_bytes` is the mean gap between samples. Sets the range
 * of all and lowers its peak, and returns the correction of each site: the caller frees it. NULL: there is none. */
struct pl_peak_correction *pl_peakrange_fold(const struct pl_profile *profile, struct pl_figures *all, bool peak_is_now,
                                             double gap_bytes);

#endif
