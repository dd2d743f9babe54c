/* SPDX-License-Identifier: MIT */
/*
 * significance.h - could a difference between two figures be the sampling's doing alone?
 *
 * What is asked of each pair: if the program had done the same both times, how likely would figures so far apart be?
 * That is p. Of a thousand pairs that are the same, ten have p < 1%; so p is not what decides, but q, the share of
 * false discoveries among all that is at least as striking (Benjamini and Hochberg). docs/maths.md has the derivation
 * and what was measured.
 */
#ifndef PL_SIGNIFICANCE_H
#define PL_SIGNIFICANCE_H

#include "profile.h"

/* What is known of one thing on one side. */
struct pl_footing {
    struct pl_figures figures;
    double sizes[PL_SIZE_BUCKETS]; /* of what was allocated (pl_spread.sizes) */
    double interval_bytes;         /* mean gap between samples on that side; 0: everything was counted */
};

void pl_footing_add(struct pl_footing *to, const struct pl_site_view *site);

/* One figure, by what it rests on. All in the unit of the metric. */
struct pl_evidence {
    double counted;  /* one by one: certain */
    double value;    /* what samples add to it */
    double variance; /* of that */
    double seen;     /* what the samples themselves were: the truth is no less than counted + seen */
    double spread;   /* the variance that a unit of truth brings; 0: everything was counted */
    double step;     /* by how much a sample moves the figure */
};

/* The evidence for a metric. What the side itself has not met, the other one may have: blocks of other sizes, or any.
 */
struct pl_evidence pl_evidence_of(const struct pl_footing *own, const struct pl_footing *other, enum pl_metric metric);

/* p: 1 for what is the same, 0 for what is certain to differ. Never NaN, whatever the figures. */
double pl_significance_of(const struct pl_evidence *before, const struct pl_evidence *after);

/* q of each of so many p, all of those that were compared. */
void pl_significance_adjust(const double *p, double *q, uint32_t count);

#endif
