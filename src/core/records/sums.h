/* SPDX-License-Identifier: MIT */
/*
 * sums.h - adds a sample to the sums of a row, and finds its classes of size and lifetime.
 *
 * A free adds to the freed sums exactly what its allocation added to the allocated ones: the same function with the
 * same arguments. So the difference of the two is the sum over the live samples, but for the rounding of doubles.
 */
#ifndef PL_SUMS_H
#define PL_SUMS_H

#include <stdint.h>

#include "core/compiler.h"
#include "format/format.h"

INLINE void pl_sums_add(struct pl_sums *sums, double size, double weight)
{
    double spread = weight * (weight - 1.0);
    sums->objects += weight;
    sums->space += weight * size;
    sums->objects_variance += spread;
    sums->space_variance += spread * size * size;
    sums->samples++;
}

/* For allocations only: frees add nothing to it. */
INLINE void pl_sums_add_skew(struct pl_skew *skew, double size, double weight)
{
    double third = weight * (weight - 1.0) * (weight - 1.0);
    skew->objects += third;
    skew->space += third * size * size * size;
}

/* The class of a size, and of a lifetime in units of the timeline. */
INLINE unsigned pl_sums_size_bucket(uint64_t size)
{
    unsigned log2 = 63 - (unsigned) __builtin_clzll(size | 8);
    return log2 - 3 < PL_SIZE_BUCKETS ? log2 - 3 : PL_SIZE_BUCKETS - 1;
}

INLINE unsigned pl_sums_life_bucket(uint64_t units)
{
    unsigned bits = 63 - (unsigned) __builtin_clzll(2 * units + 1); /* 0 if units is 0 */
    return bits < PL_LIFE_BUCKETS ? bits : PL_LIFE_BUCKETS - 1;
}

#endif
