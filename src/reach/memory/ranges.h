/* SPDX-License-Identifier: MIT */
/*
 * ranges.h - finds an address among ranges of addresses: an array of any struct that begins with `uint64_t from, to`,
 * by address, whose ranges do not overlap.
 */
#ifndef PL_RANGES_H
#define PL_RANGES_H

#include <stddef.h>
#include <stdint.h>

/* The number of the first range that ends behind this address: it has the address, or is behind it. `count`: none. */
static inline size_t pl_ranges_from(const void *range, size_t count, size_t stride, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const uint64_t *at = (const uint64_t *) ((const char *) range + middle * stride);
        if (at[1] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The range that has this address; NULL: none. */
static inline const void *pl_ranges_find(const void *range, size_t count, size_t stride, uint64_t address)
{
    size_t number = pl_ranges_from(range, count, stride, address);
    const char *found = (const char *) range + number * stride;
    return number < count && *(const uint64_t *) found <= address ? found : NULL;
}

#endif
