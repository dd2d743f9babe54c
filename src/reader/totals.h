/* SPDX-License-Identifier: MIT */
/*
 * totals.h - from the figures of sites to metrics, of each and of all, and to the peak.
 */
#ifndef PL_TOTALS_H
#define PL_TOTALS_H

#include "reader/profile.h"

/* The charge of a call (struct pl_figures) in all sites of a profile that is read from one file, or is a sum. */
uint64_t pl_totals_charge(const struct pl_profile *profile);

/* Sites, threads and times must have been set. Completes the figures of sites; fills in totals, the peak's time and
 * whether everything is exact. */
void pl_totals_fold(struct pl_profile *profile);

/* For a part of the profile without samples: how much of each metric may have gone unseen. */
void pl_totals_hidden(const struct pl_profile *profile, struct pl_estimate hidden[PL_METRIC_COUNT]);

/* The mean gap between samples, in bytes: what one of them stands for, or would stand for. */
double pl_totals_gap(const struct pl_profile *profile);

/* In auto mode, a site of which no sample was taken since counting ended is shown as it was counted. That none was
 * taken of all these sites together bounds what they may have allocated since, by the rule of three. */
struct pl_unsampled {
    uint32_t sites;
    double bytes; /* at most, with 95% confidence; 0 without such sites */
};
struct pl_unsampled pl_totals_unsampled(const struct pl_profile *profile);

/* Sets calls and bytes, which are exact, and limits the other intervals to them, as no more can be live than was
 * allocated. */
void pl_totals_allocated(struct pl_estimate metric[PL_METRIC_COUNT], double calls, double bytes);

#endif
