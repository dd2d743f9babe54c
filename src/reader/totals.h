/* SPDX-License-Identifier: MIT */
/*
 * totals.h - from the figures of sites to metrics, of each and of all, and to the peak.
 */
#ifndef PL_TOTALS_H
#define PL_TOTALS_H

#include "profile.h"

/* Sites, threads and times are there; fills metrics, totals, the peak's time and whether all of it is exact. */
void pl_totals_fold(struct pl_profile *profile);

/* For a part of the profile in which not one sample was taken: how much of each metric may hide behind that. */
void pl_totals_hidden(const struct pl_profile *profile, struct pl_estimate hidden[PL_METRIC_COUNT]);

/* The mean gap between samples, in bytes: what one of them stood for, or would have. */
double pl_totals_gap(const struct pl_profile *profile);

/* Calls and bytes are known exactly: puts them in, and cuts the other intervals to them, as no more can be live than
 * was allocated. */
void pl_totals_allocated(struct pl_estimate metric[PL_METRIC_COUNT], double calls, double bytes);

#endif
