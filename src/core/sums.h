/* SPDX-License-Identifier: MIT */
/*
 * sums.h - how a sample enters, and leaves, the sums of a row.
 *
 * A free adds to the freed sums exactly what its allocation added to the allocated ones: the same function, the same
 * arguments, so the difference is the live samples' own sum, to the last bit that doubles can hold.
 */
#ifndef PL_SUMS_H
#define PL_SUMS_H

#include <stdint.h>

#include "compiler.h"
#include "format.h"

INLINE void pl_sums_add(struct pl_sums *sums, double size, double weight)
{
    double spread = weight * (weight - 1.0);
    sums->objects += weight;
    sums->space += weight * size;
    sums->objects_variance += spread;
    sums->space_variance += spread * size * size;
    sums->samples++;
}

/* Kept of allocations alone: frees add nothing to it. */
INLINE void pl_skew_add(struct pl_skew *skew, double size, double weight)
{
    double third = weight * (weight - 1.0) * (weight - 1.0);
    skew->objects += third;
    skew->space += third * size * size * size;
}

#endif
