/* SPDX-License-Identifier: MIT */
/* known.c - see known.h. */
#include "footprint/known.h"

#include <stdlib.h>

#include "reach/census.h"
#include "reach/samples.h"

static bool make_room(struct pl_known *known, uint32_t count)
{
    known->block = malloc((count + 1ull) * sizeof *known->block);
    known->room = known->block ? count : 0;
    return known->block;
}

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
    bool good = pl_census_find_table(&table, space, blocks_at, 0) && pl_census_take(&census, space, &table) &&
                make_room(known, census.count);
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

static bool take_sample(void *context, const struct pl_sample *sample)
{
    return add(context, (struct pl_known_block){
                            .address = sample->address,
                            .size = sample->size,
                            .weight = sample->weight,
                            .place = sample->row,
                            .sampled = true,
                        });
}

static bool read_sampled(struct pl_known *known, struct pl_space *space, uint64_t live_at)
{
    struct pl_sample_level level[PL_SAMPLE_LEVELS];
    int levels = pl_samples_find(space, live_at, level);
    bool good = levels >= 0;
    for (int i = 0; i < levels && good; i++)
        good = pl_samples_read(space, &level[i], take_sample, known);
    return good;
}

/* ---- both ---- */

static int by_address(const void *left, const void *right)
{
    const struct pl_known_block *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* The census comes in order, unless the allocator is one that places blocks 8 bytes apart. */
static bool is_sorted(const struct pl_known *known)
{
    uint32_t i = 1;
    while (i < known->count && known->block[i - 1].address <= known->block[i].address)
        i++;
    return i >= known->count;
}

bool pl_known_read(struct pl_known *known, struct pl_space *space, uint64_t blocks_at, uint64_t live_at)
{
    *known = (struct pl_known){0};
    if (blocks_at && !read_exact(known, space, blocks_at))
        return false;
    if (live_at && !read_sampled(known, space, live_at))
        return false;
    if (!is_sorted(known))
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
