/* SPDX-License-Identifier: MIT */
/*
 * adviser.h - what all kinds of advice work with. Only advice.c and advice_*.c include it.
 *
 * Advice is about places in the code that somebody can change, so stacks are taken together by their first spot: the
 * function and line that asked for memory, and what of a library it called. Places with next to nothing are left out.
 *
 * Estimates speak with their lower ends: a figure of a place is multiplied by how sure it is.
 */
#ifndef PL_ADVISER_H
#define PL_ADVISER_H

#include "advice.h"
#include "figure.h"
#include "sizing.h"

#define PL_ADVICE_BYTES_LEAST (512 << 10) /* what is not worth a change, whatever its share */
#define PL_ADVICE_CALLS_LEAST 10000
#define PL_ADVICE_WITNESSES_LEAST 16 /* counted blocks and samples, where there are samples: fewer say nothing */

/* The first spot of some paths. */
struct pl_adviser_place {
    uint32_t path; /* the one of them with most calls */
    struct pl_figures figures;
    struct pl_estimate metric[PL_METRIC_COUNT];
    struct pl_spread spread;
};

struct pl_adviser {
    const struct pl_profile *profile;
    const struct pl_spots *spots;
    const struct pl_paths *paths;
    const char *command;
    const struct pl_sizing *sizing;
    uint32_t places;
    struct pl_adviser_place *place;
    uint32_t *place_of_path; /* PL_ADVISER_NOWHERE: left out */
    struct pl_advices *out;
    uint32_t capacity;
};
#define PL_ADVISER_NOWHERE UINT32_MAX

typedef void pl_advise(struct pl_adviser *adviser);
pl_advise pl_advise_leak, pl_advise_reserve, pl_advise_reuse, pl_advise_pool, pl_advise_slack, pl_advise_fragmentation;

void pl_adviser_add(struct pl_adviser *adviser, const struct pl_advice *advice);
bool pl_adviser_has(const struct pl_adviser *adviser, enum pl_advice_kind kind, uint32_t path);
const char *pl_adviser_print(struct pl_adviser *adviser, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A part of a whole of the profile: 0 of nothing. */
double pl_adviser_share(const struct pl_adviser *adviser, enum pl_metric metric, double part);

/* The lower end of an estimate as a fraction of it; 1 for what was counted, 0 for too few samples. */
double pl_adviser_sure(const struct pl_adviser_place *place, enum pl_metric metric);

/* Behind a sentence: "; estimated from 312 samples", or "". */
const char *pl_adviser_basis(struct pl_adviser *adviser, const struct pl_figures *figures);

/* All blocks of a place take up the same, by the rule of the allocator; 0: not so, or not known, as of few samples. */
uint64_t pl_adviser_taken(const struct pl_adviser *adviser, const struct pl_adviser_place *place);

/* "48 bytes"; "41 to 48 bytes". */
const char *pl_adviser_sizes(struct pl_adviser *adviser, const struct pl_spread *spread);

#endif
