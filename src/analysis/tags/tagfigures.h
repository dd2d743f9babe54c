/* SPDX-License-Identifier: MIT */
/*
 * tagfigures.h - adds up figures of tags, and limits estimates by exact figures.
 */
#ifndef PL_TAGFIGURES_H
#define PL_TAGFIGURES_H

#include "analysis/tags/tagtree.h"

/* Adds everything but the metrics, which are estimated from the sum. */
void pl_tagfigures_add(struct pl_tag_figures *to, const struct pl_tag_figures *more);

/* Sets calls and bytes, which are exact, and limits all other metrics and their intervals to them. */
void pl_tagfigures_bound(struct pl_estimate metric[PL_METRIC_COUNT], double calls, double bytes);

/* Memory allocated under the tag and freed by any thread. The metrics must have been estimated. */
struct pl_tag_freed {
    struct pl_estimate objects, space;
};
struct pl_tag_freed pl_tagfigures_freed(const struct pl_tag_figures *of);

#endif
