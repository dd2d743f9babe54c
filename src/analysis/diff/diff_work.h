/* SPDX-License-Identifier: MIT */
/*
 * diff_work.h - what the parts of pl_diff_make() share; each part is a file.
 *
 * diff compares units: a unit is a stack, a tag, or the threads with one name. Units are found first. Then, unit by
 * unit, its sites are added up by side, and it is judged: there may be many units, and sums are large.
 */
#ifndef PL_DIFF_WORK_H
#define PL_DIFF_WORK_H

#include "analysis/diff/diff.h"
#include "analysis/diff/significance.h"
#include "reader/base/arena.h"

enum pl_diff_side {
    PL_DIFF_BEFORE,
    PL_DIFF_AFTER,
    PL_DIFF_SIDES,
};

struct pl_diff_unit {
    uint32_t who, was;
    bool moved;
    bool counted; /* `calls` and `bytes` are exact */
    double calls[PL_DIFF_SIDES], bytes[PL_DIFF_SIDES];
};

struct pl_diff_work {
    const struct pl_profile *joined;
    const struct pl_diff_options *options;
    struct pl_diff *out;
    struct pl_arena *scratch;
    double peak_slack_bytes; /* the sum of both peaks' slack */
    uint32_t units;
    struct pl_diff_unit *unit;
    struct pl_footing start[PL_DIFF_SIDES]; /* how each side was recorded: figures of a unit are added to it */
    uint32_t *of_site;                      /* the unit of each site of the joined profile */
};

static inline enum pl_diff_side pl_diff_side_of(const struct pl_profile *joined, uint32_t site)
{
    return site < joined->base_sites ? PL_DIFF_BEFORE : PL_DIFF_AFTER;
}

/* Each fills of_site, and the units except for the figures of their sites. */
void pl_diff_stacks(struct pl_diff_work *work);
void pl_diff_tags(struct pl_diff_work *work);
void pl_diff_threads(struct pl_diff_work *work);

#endif
