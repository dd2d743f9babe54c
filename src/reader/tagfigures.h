/* SPDX-License-Identifier: MIT */
/*
 * tagfigures.h - figures of tags: added up, and kept within what is known exactly.
 */
#ifndef PL_TAGFIGURES_H
#define PL_TAGFIGURES_H

#include "tagtree.h"

/* All but the metrics, which are estimated from the sum. */
void pl_tagfigures_add(struct pl_tag_figures *to, const struct pl_tag_figures *more);

/* Puts calls and bytes in, which are exact, and lets no other metric, nor its interval, be above them. */
void pl_tagfigures_bound(struct pl_estimate metric[PL_METRIC_COUNT], double calls, double bytes);

/* What was freed, by whomever, of what was allocated under the tag. The metrics have been estimated. */
struct pl_tag_freed {
    struct pl_estimate objects, space;
};
struct pl_tag_freed pl_tagfigures_freed(const struct pl_tag_figures *of);

#endif
