/* SPDX-License-Identifier: MIT */
/*
 * map.h - from a 64-bit hash to a record number; grows, never shrinks, never locks.
 *
 * Levels, each four times the one before, are added as they are needed; a key lives in one group of eight slots per
 * level. Nothing is ever removed or moved, so the first empty slot of a group proves that the key is in no later one.
 *
 *   level 0   [........] x 128        1,024 slots    16 KiB
 *   level 1   [........] x 512        4,096 slots    64 KiB
 *   ...                               up to level 6: 4 M slots
 *
 * Invariant: a slot's hash, once set, never changes; its id goes from 0 to a record number once. A thread may die, or
 * be thrown out by longjmp, between the two: whoever comes next finds id 0 and fills it in. The 64-bit hash is the key:
 * with a million entries the chance that any two collide is 3 in 10^8.
 */
#ifndef PL_MAP_H
#define PL_MAP_H

#include <stdint.h>

#define PL_MAP_LEVELS 7

struct pl_slot {
    uint64_t hash;
    uint32_t id;
    uint32_t reserved;
};

struct pl_map {
    struct pl_slot *level[PL_MAP_LEVELS];
};

/* The slot of this hash, new or not. NULL when there is no room. */
struct pl_slot *pl_map_slot(struct pl_map *map, uint64_t hash);

/* Makes the first `levels` levels now, as far as they are to be had. */
void pl_map_reserve(struct pl_map *map, unsigned levels);

/* Settles a slot's id: the caller's, unless another thread was faster. */
uint32_t pl_slot_settle(struct pl_slot *slot, uint32_t id);

#endif
