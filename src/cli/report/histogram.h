/* SPDX-License-Identifier: MIT */
/*
 * histogram.h - prints log2 histograms of sizes and lifetimes: as lines with bars, as a few characters in a table, and
 * as quantiles.
 */
#ifndef PL_HISTOGRAM_H
#define PL_HISTOGRAM_H

#include "analysis/figure.h"
#include "cli/report/views.h"

/* The buckets of a histogram, and how their values are printed. */
struct pl_scale {
    unsigned buckets;
    double (*from)(unsigned bucket); /* where a bucket begins */
    double unit;                     /* of from(): 1 for bytes, seconds per unit for times */
    void (*figure)(char out[PL_FIGURE_BYTES], double value);
    bool whole; /* values are whole numbers: a bucket ends one below the next */
};

struct pl_scale pl_histogram_sizes(void);
struct pl_scale pl_histogram_lives(double unit_s);

/* All buckets outside [first, last] are empty. */
struct pl_range {
    unsigned first, last;
};
struct pl_range pl_histogram_range(const struct pl_scale *scale, const double *count);

double pl_histogram_sum(const struct pl_scale *scale, const double *count);

/* One line for each bucket, or for each 2, 4, ... buckets if there are many. */
void pl_histogram_print(const struct pl_view *view, const struct pl_scale *scale, const double *count);

/* One character for each bucket: ▁ to █, or a blank if it is empty. */
#define PL_SPARK_BYTES (3 * 32 + 1)
void pl_histogram_spark(char out[PL_SPARK_BYTES], const double *count, struct pl_range range);

/* "16 B      8.0 MiB": where the first and the last bucket of the range begin. */
void pl_histogram_ends(char out[2 * PL_FIGURE_BYTES], const struct pl_scale *scale, struct pl_range range);

/* "sizes: all 48 B", or "sizes: 16 B ▁▂█▁ 127 B · p50 about 48 B · p99 about 120 B". The caller frees it. */
char *pl_histogram_describe(const struct pl_spread *spread);

/* The value below which this fraction lies, interpolated inside its bucket and so approximate. 0: all are empty. */
double pl_histogram_quantile(const struct pl_scale *scale, const double *count, double fraction);

#endif
