/* SPDX-License-Identifier: MIT */
/*
 * pairs.h - pairs of numbers, numbered in the order in which they are first seen. Grows as needed.
 */
#ifndef PL_PAIRS_H
#define PL_PAIRS_H

#include "reader/base/index.h"

struct pl_pair {
    uint32_t first, second;
};

struct pl_pairs {
    uint32_t count, capacity;
    struct pl_pair *pair;
    struct pl_arena *arena; /* of the index */
    struct pl_index index;
};

struct pl_pairs pl_pairs_new(void);
void pl_pairs_free(struct pl_pairs *pairs);

/* The pair's number; if it is new, that is what `count` was before. */
uint32_t pl_pairs_number(struct pl_pairs *pairs, uint32_t first, uint32_t second);

#endif
