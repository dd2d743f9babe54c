/* SPDX-License-Identifier: MIT */
/*
 * metric.h - what a metric is called where people look at one profile.
 *
 * Keys and units are the same for all. But several processes had their peaks at several times: where profiles were
 * merged a peak is a sum of peaks, and nothing that ever was live at once.
 */
#ifndef PL_METRIC_H
#define PL_METRIC_H

#include "profile.h"

const struct pl_metric_info *pl_metric_of(const struct pl_profile *profile, enum pl_metric metric);

#endif
