/* SPDX-License-Identifier: MIT */
/*
 * visit.h - the two halves of a visit to the cold path, with the real call in between: exact mode's, where it is on,
 * and otherwise the sampler's.
 */
#ifndef PL_VISIT_H
#define PL_VISIT_H

#include "cold.h"
#include "exact.h"

/* What the allocation stands for; 0 if it is of no interest. */
INLINE double pl_visit_due(enum pl_function function, uint64_t size)
{
    return likely(pl_exact_due(function, size)) ? PL_WEIGHT_EXACT : pl_cold_due(function, size);
}

INLINE void pl_visit_allocated(enum pl_function function, uint64_t size, void *block, double weight,
                               const struct pl_start *start)
{
    if (likely(weight < 0)) {
        if (likely(block != NULL))
            pl_exact_allocated(function, size, block, start);
    } else {
        pl_cold_allocated(function, size, block, weight, start);
    }
}

#endif
