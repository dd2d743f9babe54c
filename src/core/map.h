/* SPDX-License-Identifier: MIT */
/*
 * map.h - a map from a 64-bit hash to a record number; it grows, never shrinks, and has no lock.
 *
 * Levels are added as they are needed, each four times as large as the one before. A key can be in one group of eight
 * slots per level. Nothing is ever removed or moved, so an empty slot in a key's group proves that the key is in no
 * later slot or level.
 *
 *   level 0   [........] x 128        1,024 slots    16 KiB
 *   level 1   [........] x 512        4,096 slots    64 KiB
 *   ...                               up to level 7: 16 M slots, of which only pages in use take memory
 *
 * Invariant: a slot's hash, once set, never changes; its id changes once, from 0 to a record number. A thread may die,
 * or leave by longjmp, between setting the two: the next thread finds id 0 and sets it. The 64-bit hash is the only
 * key: with a million entries the chance that any two collide is 3 in 10^8.
 */
#ifndef PL_MAP_H
#define PL_MAP_H

#include <stdint.h>

#define PL_MAP_LEVELS 8

struct pl_slot {
    uint64_t hash;
    uint32_t id;
    uint32_t tags; /* of the first slot of a group: of slots 0 to 3, and of the second: of 4 to 7. See map.c */
};

struct pl_map {
    struct pl_slot *level[PL_MAP_LEVELS];
};

/* The slot of this hash, new or not. NULL if there is no room. */
struct pl_slot *pl_map_slot(struct pl_map *map, uint64_t hash);

/* Makes the first `levels` levels now, as far as there is memory. */
void pl_map_reserve(struct pl_map *map, unsigned levels);

/* Sets a slot's id, unless another thread was faster. Returns the id that is set. */
uint32_t pl_map_settle(struct pl_slot *slot, uint32_t id);

#endif
