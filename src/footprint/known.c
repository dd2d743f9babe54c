/* SPDX-License-Identifier: MIT */
/* known.c - see known.h. */
#include "footprint/known.h"

#include <stdlib.h>
#include <string.h>

#include "core/blocks/live.h"
#include "reach/census.h"

#define GROUPS_READ 64u

static bool add(struct pl_known *known, struct pl_known_block block)
{
    if (known->count == known->room) {
        uint32_t room = known->room ? 2 * known->room : 4096;
        struct pl_known_block *more = room > known->room ? realloc(known->block, room * sizeof *more) : NULL;
        if (!more)
            return false;
        known->block = more;
        known->room = room;
    }
    known->block[known->count++] = block;
    return true;
}

/* ---- exact ---- */

static bool read_exact(struct pl_known *known, struct pl_space *space, uint64_t blocks_at)
{
    struct pl_census census = {0};
    struct pl_census_table table;
    bool good = pl_census_find_table(&table, space, blocks_at) && pl_census_take(&census, space, &table);
    for (uint32_t i = 0; i < census.count && good; i++)
        good = add(known, (struct pl_known_block){
                              .address = census.block[i].address,
                              .size = census.block[i].size,
                              .weight = 1,
                              .place = census.block[i].place,
                              .vague = census.block[i].vague,
                          });
    pl_census_free(&census);
    pl_census_free_table(&table);
    return good;
}

/* ---- sampled ---- */

static bool take_group(struct pl_known *known, const struct pl_live_group *group)
{
    bool good = true;
    for (unsigned i = 0; i < PL_LIVE_GROUP && good; i++) {
        const struct pl_record *record = &group->record[i];
        if (!group->address[i] || group->address[i] & PL_LIVE_LINK_MAP || !(record->weight >= 1))
            continue;
        good = add(known, (struct pl_known_block){
                              .address = group->address[i],
                              .size = record->size,
                              .weight = record->weight,
                              .place = record->row,
                              .sampled = true,
                          });
    }
    return good;
}

/* Pages of a level that were never written hold no sample. */
static bool read_level(struct pl_known *known, struct pl_space *space, uint64_t at, uint64_t groups)
{
    struct pl_live_group *group = malloc(GROUPS_READ * sizeof *group);
    bool good = group;
    for (uint64_t done = 0; done < groups && good; done += GROUPS_READ) {
        uint64_t from = at + done * sizeof *group, end = from + GROUPS_READ * sizeof *group, begin, stop;
        if (!pl_space_touched(space, from, end, &begin, &stop))
            continue;
        good = pl_space_read(space, from, group, GROUPS_READ * sizeof *group) == GROUPS_READ * sizeof *group;
        for (unsigned i = 0; i < GROUPS_READ && good; i++)
            good = take_group(known, &group[i]);
    }
    free(group);
    return good;
}

static bool read_sampled(struct pl_known *known, struct pl_space *space, uint64_t live_at)
{
    struct pl_live live;
    if (pl_space_read(space, live_at, &live, sizeof live) != sizeof live)
        return false;
    bool good = true;
    for (unsigned i = 0; i < PL_LIVE_LEVELS && live.level[i] && good; i++)
        good = read_level(known, space, (uintptr_t) live.level[i], 1ull << PL_LIVE_GROUPS_LOG2(i));
    return good;
}

/* ---- both ---- */

static int by_address(const void *left, const void *right)
{
    const struct pl_known_block *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

bool pl_known_read(struct pl_known *known, struct pl_space *space, uint64_t blocks_at, uint64_t live_at)
{
    *known = (struct pl_known){0};
    if (blocks_at && !read_exact(known, space, blocks_at))
        return false;
    if (live_at && !read_sampled(known, space, live_at))
        return false;
    if (known->count)
        qsort(known->block, known->count, sizeof *known->block, by_address);
    return true;
}

void pl_known_free(struct pl_known *known)
{
    free(known->block);
    *known = (struct pl_known){0};
}

uint32_t pl_known_from(const struct pl_known *known, uint64_t address)
{
    uint32_t low = 0, high = known->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (known->block[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
