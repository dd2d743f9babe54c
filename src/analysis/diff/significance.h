/* SPDX-License-Identifier: MIT */
/*
 * significance.h - can sampling alone explain a difference between two figures?
 *
 * For each pair of figures: if the program had done the same in both runs, how likely would figures so far apart be?
 * That is p. Of a thousand pairs without a change, ten have p < 1%. So the decision uses q: the share of false
 * discoveries among all pairs with an equal or smaller p (Benjamini and Hochberg). docs/maths.md has the derivation and
 * measurements.
 */
#ifndef PL_SIGNIFICANCE_H
#define PL_SIGNIFICANCE_H

#include "reader/profile.h"

/* The figures of one unit (site, tag, thread) in one of the two profiles. */
struct pl_footing {
    struct pl_figures figures;
    double sizes[PL_SIZE_BUCKETS]; /* of allocated blocks (pl_spread.sizes) */
    double interval_bytes;         /* the sampling interval of that profile; 0: everything was counted */
    uint32_t call_charge;          /* bytes that each call counted in addition to its size; 0 counts as 1 */
};

void pl_significance_add(struct pl_footing *to, const struct pl_site_view *site);

/* What one figure is made of. All in the unit of the metric. */
struct pl_evidence {
    double counted;  /* the exact part */
    double value;    /* the estimate from samples, which adds to it */
    double variance; /* of `value` */
    double seen;     /* the sampled blocks themselves, unweighted: the truth is no less than counted + seen */
    double spread;   /* expected variance for each unit of the true value; 0: everything was counted */
    double step;     /* by how much one sample moves the figure */
};

/* The evidence for a metric. `other` helps to tell the sizes of blocks that `own` has few samples of, or none. */
struct pl_evidence pl_significance_evidence(const struct pl_footing *own, const struct pl_footing *other,
                                            enum pl_metric metric);

/* p: 1 for equal figures, 0 for figures that certainly differ. Never NaN, whatever the figures. */
double pl_significance_of(const struct pl_evidence *before, const struct pl_evidence *after);

/* Computes q from the p of all `count` comparisons. */
void pl_significance_adjust(const double *p, double *q, uint32_t count);

#endif
