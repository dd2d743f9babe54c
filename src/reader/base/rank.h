/* SPDX-License-Identifier: MIT */
/*
 * rank.h - items by weight, heaviest first. Of equal weight the one with the lower number comes first, so that the same
 * profile always reads the same.
 */
#ifndef PL_RANK_H
#define PL_RANK_H

#include <stdint.h>
#include <stdlib.h>

struct pl_ranked {
    uint32_t item; /* its number in the caller's array */
    double weight;
};

static inline int pl_rank_compare(const void *left, const void *right)
{
    const struct pl_ranked *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    return (a->item > b->item) - (a->item < b->item);
}

static inline void pl_rank(struct pl_ranked *ranked, uint32_t count)
{
    qsort(ranked, count, sizeof *ranked, pl_rank_compare);
}

#endif
