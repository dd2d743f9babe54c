/* SPDX-License-Identifier: MIT */
/* live.c - see live.h. */
#include "core/blocks/live.h"

#include "core/blocks/filter.h"
#include "core/memory.h"

static uint64_t groups_in(unsigned level)
{
    return 1ull << PL_LIVE_GROUPS_LOG2(level);
}

static bool insert_into(struct pl_live_group *group, uintptr_t address, const struct pl_record *record)
{
    for (unsigned i = 0; i < PL_LIVE_GROUP; i++) {
        if (load_relaxed(&group->address[i]) || !swap_if(&group->address[i], 0, address))
            continue;
        /* Plain stores: no thread can free the block before we return its address. */
        group->record[i] = *record;
        return true;
    }
    return false;
}

static struct pl_live_group *level_groups(struct pl_live *live, unsigned i)
{
    struct pl_live_group *level = load_acquire(&live->level[i]);
    return level ? level : pl_memory_install((void **) &live->level[i], groups_in(i) * sizeof *level);
}

void pl_live_reserve(struct pl_live *live, unsigned levels)
{
    for (unsigned i = 0; i < levels; i++)
        level_groups(live, i);
}

bool pl_live_insert(struct pl_live *live, uintptr_t address, const struct pl_record *record)
{
    address = pl_arch_untagged(address);
    for (unsigned i = 0; i < PL_LIVE_LEVELS; i++) {
        struct pl_live_group *level = level_groups(live, i);
        if (!level)
            return false;
        if (insert_into(pl_live_group(level, i, address), address, record)) {
            pl_filter_add((void *) address);
            return true;
        }
    }
    return false;
}

/* The compare-and-swap decides who removes it: a signal handler may interrupt us and free in the same group. */
static void remove_slot(struct pl_live_group *group, unsigned i, struct pl_live_found *out)
{
    uintptr_t key = load_acquire(&group->address[i]);
    struct pl_record record = group->record[i];
    if (!key || !swap_if(&group->address[i], key, 0))
        return;
    pl_filter_drop((void *) key);
    if (key & PL_LIVE_LINK_MAP) {
        out->link_map = true;
    } else {
        out->block = true;
        out->record = record;
    }
}

bool pl_live_take(struct pl_live *live, uintptr_t address, struct pl_live_found *out)
{
    struct pl_live_group *level;
    address = pl_arch_untagged(address);
    out->block = out->link_map = false;
    for (unsigned i = 0; i < PL_LIVE_LEVELS && (level = load_acquire(&live->level[i])); i++) {
        struct pl_live_group *group = pl_live_group(level, i, address);
        for (unsigned k = 0; k < PL_LIVE_GROUP; k++)
            if (unlikely(pl_live_is_at(load_relaxed(&group->address[k]), address)))
                remove_slot(group, k, out);
    }
    return out->block || out->link_map;
}

static const struct pl_record *find(struct pl_live *live, uintptr_t key)
{
    struct pl_live_group *level;
    key = pl_arch_untagged(key);
    for (unsigned i = 0; i < PL_LIVE_LEVELS && (level = load_acquire(&live->level[i])); i++) {
        struct pl_live_group *group = pl_live_group(level, i, key);
        for (unsigned k = 0; k < PL_LIVE_GROUP; k++)
            if (load_acquire(&group->address[k]) == key)
                return &group->record[k];
    }
    return NULL;
}

bool pl_live_has(struct pl_live *live, uintptr_t key)
{
    return find(live, key) != NULL;
}

bool pl_live_find(struct pl_live *live, uintptr_t address, struct pl_record *record)
{
    const struct pl_record *found = find(live, address);
    if (found)
        *record = *found;
    return found != NULL;
}
