/* SPDX-License-Identifier: MIT */
/*
 * pairs.c - pairs of numbers, numbered.
 */
#include "export/pairs.h"

#include <stdlib.h>

#include "reader/base/grow.h"

struct wanted {
    const struct pl_pair *pairs;
    struct pl_pair pair;
};

static bool is_wanted(const void *context, uint32_t entry)
{
    const struct wanted *wanted = context;
    return wanted->pairs[entry].first == wanted->pair.first && wanted->pairs[entry].second == wanted->pair.second;
}

static uint32_t *find(const struct pl_pairs *pairs, struct pl_pair pair)
{
    struct wanted wanted = {pairs->pair, pair};
    return pl_index_find(&pairs->index, pair.first, pair.second, is_wanted, &wanted);
}

/* Room for twice as many. */
static void grow(struct pl_pairs *pairs)
{
    pl_arena_free(pairs->arena);
    pairs->arena = pl_arena_new();
    pairs->index = pl_index_new(pairs->arena, pairs->count * 2);
    for (uint32_t i = 0; i < pairs->count; i++)
        *find(pairs, pairs->pair[i]) = i + 1;
}

struct pl_pairs pl_pairs_new(void)
{
    struct pl_pairs pairs = {.arena = pl_arena_new()};
    pairs.index = pl_index_new(pairs.arena, 1);
    return pairs;
}

void pl_pairs_free(struct pl_pairs *pairs)
{
    pl_arena_free(pairs->arena);
    free(pairs->pair);
    *pairs = (struct pl_pairs){0};
}

uint32_t pl_pairs_number(struct pl_pairs *pairs, uint32_t first, uint32_t second)
{
    struct pl_pair pair = {first, second};
    uint32_t *slot = find(pairs, pair);
    if (*slot)
        return *slot - 1;
    uint32_t number = pairs->count;
    pairs->pair = pl_grow(pairs->pair, number, &pairs->capacity, sizeof *pairs->pair);
    pairs->pair[number] = pair;
    *slot = ++pairs->count;
    if (pairs->count > pairs->index.mask / 2)
        grow(pairs);
    return number;
}
