/* SPDX-License-Identifier: MIT */
/*
 * map.c - see map.h.
 *
 * Most lookups first go through levels whose groups are full of other keys. A group's first cache line is enough to see
 * that: it has a tag of eight bits for each slot, 0x80 and seven bits of the hash, which is set after the slot has got
 * its hash. As long as any tag is missing, because a slot is empty or because a thread died or has been stopped before
 * it set the tag, the slots themselves decide.
 */
#include "core/map.h"

#include "core/memory.h"

#define GROUP 8u
#define LEVELS_TOUCHED 2u /* every program that has this level soon touches all of its pages */

static uint64_t groups_in(unsigned level)
{
    return 128ull << (2 * level);
}

INLINE struct pl_slot *level_slots(struct pl_map *map, unsigned level)
{
    struct pl_slot *slots = load_acquire(&map->level[level]);
    if (likely(slots))
        return slots;
    size_t bytes = groups_in(level) * GROUP * sizeof *slots;
    slots = pl_memory_install((void **) &map->level[level], bytes);
    if (slots && level < LEVELS_TOUCHED)
        pl_memory_expect(slots, bytes);
    return slots;
}

#define EACH 0x0101010101010101ull /* times a byte: that byte, eight times */

INLINE uint64_t tag_of(uint64_t hash)
{
    return 0x80 | hash >> 57;
}

static void set_tag(struct pl_slot *group, unsigned i, uint64_t hash)
{
    __atomic_fetch_or(&group[i / 4].tags, (uint32_t) tag_of(hash) << i % 4 * 8, __ATOMIC_RELAXED);
}

/* If all tags are set, no byte of the sum carries into the next one, and it has its highest bit if the tags differ. */
INLINE bool is_full_of_others(const struct pl_slot *group, uint64_t hash)
{
    uint64_t tags = load_relaxed(&group[0].tags) | (uint64_t) load_relaxed(&group[1].tags) << 32;
    uint64_t differ = (tags ^ tag_of(hash) * EACH) + 0x7f * EACH;
    return (tags & differ & 0x80 * EACH) == 0x80 * EACH;
}

/* The slot in this group that has the hash, or an empty one, which gets it; NULL if the group is full of others. */
static struct pl_slot *slot_in_group(struct pl_slot *group, uint64_t hash)
{
    for (unsigned i = 0; i < GROUP; i++) {
        uint64_t seen = load_acquire(&group[i].hash);
        if (!seen && swap_if(&group[i].hash, 0, hash)) {
            set_tag(group, i, hash);
            return &group[i];
        }
        if (load_acquire(&group[i].hash) == hash)
            return &group[i];
    }
    return NULL;
}

INLINE struct pl_slot *group_of(struct pl_slot *slots, unsigned level, uint64_t hash)
{
    return &slots[(hash & (groups_in(level) - 1)) * GROUP];
}

/* A new key is looked up in every level, and each lookup is likely a cache miss: prefetch them all at once. */
INLINE void prefetch(const struct pl_map *map, uint64_t hash)
{
    struct pl_slot *slots;
    for (unsigned level = 1; level < PL_MAP_LEVELS && (slots = load_relaxed(&map->level[level])); level++)
        __builtin_prefetch(group_of(slots, level, hash));
}

struct pl_slot *pl_map_slot(struct pl_map *map, uint64_t hash)
{
    prefetch(map, hash);
    for (unsigned level = 0; level < PL_MAP_LEVELS; level++) {
        struct pl_slot *slots = level_slots(map, level);
        if (!slots)
            return NULL;
        struct pl_slot *group = group_of(slots, level, hash);
        struct pl_slot *slot = is_full_of_others(group, hash) ? NULL : slot_in_group(group, hash);
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
