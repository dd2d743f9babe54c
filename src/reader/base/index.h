/* SPDX-License-Identifier: MIT */
/*
 * index.h - finds an entry of a caller's array by its key: open addressing over entry numbers.
 *
 * The keys stay in the caller's array, so a slot costs four bytes; the caller knows beforehand how many entries there
 * can be, so the table never grows and is never more than half full. The hash is seeded: a file cannot choose its
 * collisions.
 */
#ifndef PL_INDEX_H
#define PL_INDEX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/random.h>

#include "reader/base/arena.h"

struct pl_index {
    uint32_t *slot; /* entry + 1, or 0 */
    uint32_t mask;
    uint64_t seed;
};

static inline struct pl_index pl_index_new(struct pl_arena *arena, uint32_t entries_max)
{
    struct pl_index index = {.mask = 15, .seed = 0x9e3779b97f4a7c15ull};
    while (index.mask / 2 < entries_max && index.mask < UINT32_MAX)
        index.mask = index.mask * 2 + 1;
    index.slot = pl_arena_alloc(arena, ((size_t) index.mask + 1) * sizeof *index.slot);
    uint64_t random;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) == sizeof random)
        index.seed = random;
    return index;
}

static inline uint64_t pl_index_mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128) (a ^ 0x2d358dccaa6c78a5ull) * (b ^ 0x8bb84b93962eacc9ull);
    return (uint64_t) product ^ (uint64_t) (product >> 64);
}

/* Adds the bytes of a text to a hash. */
static inline uint64_t pl_index_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = pl_index_mix(hash, (unsigned char) *text);
    return hash;
}

/* Returns the slot of the entry for which same(context, entry) holds, or the empty slot where it belongs. Inlined, and
 * `same` with it. */
static inline uint32_t *pl_index_find(const struct pl_index *index, uint64_t high, uint64_t low,
                                      bool (*same)(const void *context, uint32_t entry), const void *context)
{
    uint64_t hash = pl_index_mix(pl_index_mix(high, index->seed), low ^ index->seed);
    uint32_t at = (uint32_t) (hash >> 32) & index->mask;
    while (index->slot[at] != 0 && !same(context, index->slot[at] - 1))
        at = (at + 1) & index->mask;
    return &index->slot[at];
}

#endif
