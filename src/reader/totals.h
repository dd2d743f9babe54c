/* SPDX-License-Identifier: MIT */
/*
 * totals.h - from the figures of sites to metrics, of each and of all, and to the peak.
 */
#ifndef PL_TOTALS_H
#define PL_TOTALS_H

#include "profile.h"

/* Sites, threads and times are there; fills metrics, totals, the peak's time and whether all of it is exact. */
void pl_totals_fold(struct pl_profile *profile);

#endif
