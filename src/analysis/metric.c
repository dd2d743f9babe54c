/* SPDX-License-Identifier: MIT */
/*
 * metric.c - what a metric is called where people look at one profile.
 */
#include "metric.h"

/* Those that have another name where profiles were merged. */
static const struct pl_metric_info merged[PL_METRIC_COUNT] = {
    [PL_METRIC_PEAK_OBJECTS] = {"peak_objects", "sum of peaks, in blocks", "blocks",
                                "blocks that were live when each process held most, added up"},
    [PL_METRIC_PEAK_SPACE] = {"peak_space", "sum of peaks", "bytes",
                              "bytes that were live when each process held most, added up"},
};

const struct pl_metric_info *pl_metric_of(const struct pl_profile *profile, enum pl_metric metric)
{
    return profile->merged && merged[metric].word ? &merged[metric] : &pl_metric_info[metric];
}
