/* SPDX-License-Identifier: MIT */
/*
 * metric.h - the words of reports for a metric, and which metric to show. describe.h has the words for all readers.
 */
#ifndef PL_METRIC_H
#define PL_METRIC_H

#include <stdbool.h>

#include "reader/profile.h"

/* "live", "never freed", "live when it ended": what the figures of blocks in use mean for this process. */
const char *pl_metric_live_word(const struct pl_profile *profile);

/* The same metric in the other unit: bytes for calls, blocks for live bytes. For temporary calls it is all calls. */
enum pl_metric pl_metric_companion(enum pl_metric metric);

/* "Never freed", "Allocated", "Calls": the title of a view of this metric. */
const char *pl_metric_title(const struct pl_profile *profile, enum pl_metric metric);

/* The title of a column of it: "bytes", "blocks", "calls". */
const char *pl_metric_column(enum pl_metric metric);

/* The share of a value in the total of this metric; 0 if there is none. */
double pl_metric_share(const struct pl_profile *profile, enum pl_metric metric, double value);

/* Live memory is more than a small fraction of the peak, so it is worth showing. */
bool pl_metric_live_matters(const struct pl_profile *profile);

/* Much less is live than at the peak: then the peak shows better where the memory went. */
bool pl_metric_peak_matters(const struct pl_profile *profile);

/* The metric to show first: live bytes; if hardly anything is live (not `live`), bytes at the peak. */
enum pl_metric pl_metric_first(const struct pl_profile *profile, bool live);

#endif
