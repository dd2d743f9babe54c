/* SPDX-License-Identifier: MIT */
/* map.c - see map.h. */
#include "core/map.h"

#include "core/memory.h"

#define GROUP 8u

static uint64_t groups_in(unsigned level)
{
    return 128ull << (2 * level);
}

static struct pl_slot *level_slots(struct pl_map *map, unsigned level)
{
    struct pl_slot *slots = load_acquire(&map->level[level]);
    if (likely(slots))
        return slots;
    return pl_memory_install((void **) &map->level[level], groups_in(level) * GROUP * sizeof *slots);
}

/* The slot in this group that has the hash, or an empty one, which gets it; NULL if the group is full of others. */
static struct pl_slot *slot_in_group(struct pl_slot *group, uint64_t hash)
{
    for (unsigned i = 0; i < GROUP; i++) {
        uint64_t seen = load_acquire(&group[i].hash);
        if (!seen && swap_if(&group[i].hash, 0, hash))
            return &group[i];
        if (load_acquire(&group[i].hash) == hash)
            return &group[i];
    }
    return NULL;
}

/* A new key is looked up in every level, and each lookup is likely a cache miss: prefetch them all at once. */
INLINE void prefetch(const struct pl_map *map, uint64_t hash)
{
    const struct pl_slot *slots;
    for (unsigned level = 1; level < PL_MAP_LEVELS && (slots = load_relaxed(&map->level[level])); level++) {
        const struct pl_slot *group = &slots[(hash & (groups_in(level) - 1)) * GROUP];
        __builtin_prefetch(group);
        __builtin_prefetch(group + GROUP / 2);
    }
}

struct pl_slot *pl_map_slot(struct pl_map *map, uint64_t hash)
{
    prefetch(map, hash);
    for (unsigned level = 0; level < PL_MAP_LEVELS; level++) {
        struct pl_slot *slots = level_slots(map, level);
        if (!slots)
            return NULL;
        struct pl_slot *slot = slot_in_group(&slots[(hash & (groups_in(level) - 1)) * GROUP], hash);
        if (slot)
            return slot;
    }
    return NULL;
}

void pl_map_reserve(struct pl_map *map, unsigned levels)
{
    for (unsigned i = 0; i < levels; i++)
        level_slots(map, i);
}

uint32_t pl_map_settle(struct pl_slot *slot, uint32_t id)
{
    return swap_if(&slot->id, 0, id) ? id : load_acquire(&slot->id);
}
