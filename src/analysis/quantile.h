/* SPDX-License-Identifier: MIT */
/*
 * quantile.h - quantiles of block sizes: half of all blocks are no larger than p50, 99% are no larger than p99.
 */
#ifndef PL_QUANTILE_H
#define PL_QUANTILE_H

#include <stdbool.h>

#include "reader/profile.h"

struct pl_quantile {
    double bytes; /* 0: no block was recorded */
    bool exact;   /* among the blocks that were recorded: no size had to be interpolated */
};

struct pl_quantile pl_quantile_of_sizes(const struct pl_profile *profile, double fraction);

#endif
