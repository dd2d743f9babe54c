/* SPDX-License-Identifier: MIT */
/*
 * diff_work.h - what the parts of pl_diff_make() share, each of them a file of its own.
 *
 * What is compared is a unit: a stack, a tag, threads of one name. Units are found first, then sites are added up by
 * unit and side, then each is judged.
 */
#ifndef PL_DIFF_WORK_H
#define PL_DIFF_WORK_H

#include "arena.h"
#include "diff.h"
#include "significance.h"

enum pl_diff_side {
    PL_DIFF_BEFORE,
    PL_DIFF_AFTER,
    PL_DIFF_SIDES,
};

struct pl_diff_unit {
    uint32_t who, was;
    bool moved;
    bool counted; /* calls and bytes are known, whatever samples say */
    double calls[PL_DIFF_SIDES], bytes[PL_DIFF_SIDES];
    struct pl_footing side[PL_DIFF_SIDES];
};

struct pl_diff_work {
    const struct pl_profile *joined;
    const struct pl_diff_options *options;
    struct pl_diff *out;
    struct pl_arena *scratch;
    double peak_slack_bytes; /* how far both peaks together may be off */
    uint32_t units;
    struct pl_diff_unit *unit;
    uint32_t *of_site; /* the unit of each site of the joined profile */
};

static inline enum pl_diff_side pl_diff_side_of(const struct pl_profile *joined, uint32_t site)
{
    return site < joined->base_sites ? PL_DIFF_BEFORE : PL_DIFF_AFTER;
}

/* Each fills units, without figures of sites, and of_site. */
void pl_diff_stacks(struct pl_diff_work *work);
void pl_diff_tags(struct pl_diff_work *work);
void pl_diff_threads(struct pl_diff_work *work);

#endif
