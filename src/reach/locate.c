/* SPDX-License-Identifier: MIT */
/* locate.c - see locate.h. */
#include "reach/locate.h"

#include <stdlib.h>

#define REGION_BYTES (1ull << PL_LOCATE_REGION_SHIFT)

struct making {
    struct pl_locate *index;
    uint32_t count;
    struct pl_locate_block (*block)(const void *context, uint32_t number);
    const void *context;
};

static size_t lines_of(const struct pl_locate *index)
{
    return (REGION_BYTES >> index->granule_shift) / PL_LOCATE_GRANULES;
}

static struct pl_locate_line *add_table(struct pl_locate *index)
{
    if (index->tables == index->room) {
        size_t room = index->room ? 2 * index->room : 64;
        struct pl_locate_line **more = realloc(index->table, room * sizeof *more);
        if (!more)
            return NULL;
        index->table = more;
        index->room = room;
    }
    struct pl_locate_line *table = malloc(lines_of(index) * sizeof *table);
    if (table)
        index->table[index->tables++] = table;
    return table;
}

static void put_before(const struct pl_locate *index, struct pl_locate_line *table, size_t from, uint32_t before)
{
    for (size_t line = from; line < lines_of(index); line++)
        table[line] = (struct pl_locate_line){before, 0};
}

/* The blocks that begin in the region of block `first`. Returns the first that begins behind it. */
static uint32_t fill_region(struct making *making, struct pl_locate_line *table, uint32_t first)
{
    const struct pl_locate *index = making->index;
    uint64_t region = making->block(making->context, first).from / REGION_BYTES;
    size_t line = 0;
    uint32_t number = first;
    put_before(index, table, 0, first);
    for (; number < making->count; number++) {
        uint64_t from = making->block(making->context, number).from;
        if (from / REGION_BYTES != region)
            break;
        uint64_t granule = from % REGION_BYTES >> index->granule_shift;
        for (; line < granule / PL_LOCATE_GRANULES; line++)
            table[line + 1].before = number;
        table[line].begins |= 1u << granule % PL_LOCATE_GRANULES;
    }
    for (line++; line < lines_of(index); line++)
        table[line].before = number;
    return number;
}

/* A block may fill many regions behind the one that it begins in. */
static bool cover(struct making *making, uint32_t number, uint64_t next)
{
    struct pl_locate *index = making->index;
    struct pl_locate_block block = making->block(making->context, number);
    uint64_t from = block.from / REGION_BYTES + 1, to = block.to / REGION_BYTES + 1;
    struct pl_locate_line *table = NULL;
    for (uint64_t region = from; region < to && region < next; region++) {
        if (!table && !(table = add_table(index)))
            return false;
        if (region == from)
            put_before(index, table, 0, number + 1);
        index->region[region - index->first] = table;
    }
    return true;
}

static bool fill(struct making *making)
{
    struct pl_locate *index = making->index;
    for (uint32_t first = 0, next; first < making->count; first = next) {
        struct pl_locate_line *table = add_table(index);
        if (!table)
            return false;
        index->region[making->block(making->context, first).from / REGION_BYTES - index->first] = table;
        next = fill_region(making, table, first);
        uint64_t behind = next < making->count ? making->block(making->context, next).from / REGION_BYTES
                                               : index->first + index->count;
        if (!cover(making, next - 1, behind))
            return false;
    }
    return true;
}

bool pl_locate_make(struct pl_locate *index, uint32_t count, unsigned granule_shift,
                    struct pl_locate_block (*block)(const void *context, uint32_t number), const void *context)
{
    struct making making = {index, count, block, context};
    *index = (struct pl_locate){.granule_shift = granule_shift};
    if (!count)
        return true;
    index->first = block(context, 0).from / REGION_BYTES;
    index->count = block(context, count - 1).to / REGION_BYTES + 1 - index->first;
    index->region = calloc(index->count, sizeof(struct pl_locate_line *));
    return index->region && fill(&making);
}

void pl_locate_free(struct pl_locate *index)
{
    for (size_t i = 0; i < index->tables; i++)
        free(index->table[i]);
    free(index->table);
    free(index->region);
    *index = (struct pl_locate){0};
}
