/* SPDX-License-Identifier: MIT */
/*
 * advice_work.h - what all kinds of advice share. Only advice.c and advice_*.c include it.
 *
 * Advice is about a place in the code that the reader can change, so stacks are grouped by their first location: the
 * function and line that allocated, and the library function that it called. Very small places are left out.
 *
 * Of estimates the lower end of the confidence interval counts (pl_advice_sure).
 */
#ifndef PL_ADVICE_WORK_H
#define PL_ADVICE_WORK_H

#include "analysis/advice/advice.h"
#include "analysis/advice/sizing.h"
#include "analysis/figure.h"

#define PL_ADVICE_WITNESSES_LEAST 16 /* counted blocks plus samples of a sampled place: with fewer, no advice */

/* The paths that have the same first location. */
struct pl_advice_place {
    uint32_t path; /* the one with most calls */
    struct pl_figures figures;
    struct pl_estimate metric[PL_METRIC_COUNT];
    struct pl_spread spread;
};

struct pl_advice_work {
    const struct pl_profile *profile;
    const struct pl_locations *locations;
    const struct pl_paths *paths;
    const struct pl_advice_commands *commands;
    const struct pl_advice_touch *touch; /* by path; NULL: not known */
    const struct pl_sizing *sizing;
    uint32_t places;
    struct pl_advice_place *place;
    uint32_t *place_of_path; /* PL_ADVICE_NOWHERE: left out */
    struct pl_advices *out;
    uint32_t capacity;
};
#define PL_ADVICE_NOWHERE UINT32_MAX

typedef void pl_advice_function(struct pl_advice_work *work);
pl_advice_function pl_advice_leak, pl_advice_reserve, pl_advice_reuse, pl_advice_pool, pl_advice_slack,
    pl_advice_fragmentation, pl_advice_growth, pl_advice_outside, pl_advice_untouched, pl_advice_arenas, pl_advice_trim,
    pl_advice_holes, pl_advice_stacks, pl_advice_hugepages;

void pl_advice_add(struct pl_advice_work *work, const struct pl_advice *advice);
bool pl_advice_has(const struct pl_advice_work *work, enum pl_advice_kind kind, uint32_t path);
const char *pl_advice_print(struct pl_advice_work *work, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A part as a share of the profile's total; 0 if the total is 0. */
double pl_advice_share(const struct pl_advice_work *work, enum pl_metric metric, double part);

/* The lower end of the confidence interval as a fraction of the estimate; 1 if exact, 0 with too few samples. */
double pl_advice_sure(const struct pl_advice_place *place, enum pl_metric metric);

/* False for a part of the process: it has fewer calls than the timeline, which is that of the whole process. */
bool pl_advice_is_whole(const struct pl_profile *profile);

/* The end of a sentence: "; estimated from 312 samples", or "". */
const char *pl_advice_basis(struct pl_advice_work *work, const struct pl_figures *figures);

/* The size that the allocator rounds all blocks of a place up to. 0: they differ, or there are too few samples. */
uint64_t pl_advice_taken(const struct pl_advice_work *work, const struct pl_advice_place *place);

/* "48 bytes"; "41 to 48 bytes". */
const char *pl_advice_sizes(struct pl_advice_work *work, const struct pl_spread *spread);

#endif
