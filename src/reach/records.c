/* SPDX-License-Identifier: MIT */
/* records.c - see records.h. */
#include "reach/records.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/blocks/blocks.h"

#define PLACES (PL_BLOCK_TALLY_MAX + 1ull)
#define PLACE_BYTES 64

struct making {
    struct pl_records *records;
    uint32_t room;
    uint32_t *known; /* place -> its record; 0: none yet */
    int profile;
};

/* A tally begins with its site and thread; so does a small record, which begins where the tally would have its owner
 * (core/records/smalls.h has a picture). */
static struct pl_verdict_record begin(int profile, uint32_t place)
{
    uint32_t tally[2] = {0}, small[2] = {0};
    off_t at = (off_t) place * PLACE_BYTES;
    if (pread(profile, tally, sizeof tally, at) != sizeof tally ||
        pread(profile, small, sizeof small, at + (off_t) offsetof(struct pl_tally, owner)) != sizeof small)
        return (struct pl_verdict_record){0};
    bool is_small = small[0] & PL_SMALL_MARK;
    return (struct pl_verdict_record){.site = is_small ? small[0] & ~PL_SMALL_MARK : tally[0],
                                      .thread = is_small ? small[1] : tally[1]};
}

uint32_t pl_records_site(int profile, uint32_t place)
{
    return begin(profile, place).site;
}

static struct pl_verdict_record *record_of(struct making *making, uint32_t place)
{
    struct pl_records *records = making->records;
    uint32_t number = making->known[place];
    if (number)
        return &records->record[number];
    if (records->count == making->room) {
        uint32_t room = 2 * making->room;
        struct pl_verdict_record *more = realloc(records->record, room * sizeof *more);
        if (!more)
            return NULL;
        records->record = more;
        making->room = room;
    }
    number = making->known[place] = records->count++;
    records->record[number] = begin(making->profile, place);
    return &records->record[number];
}

/* The example is the first block that is lost by itself; else the first that is lost with another. */
static void add_lost(struct pl_verdict_record *record, const struct pl_census_block *block)
{
    bool none = record->lost_objects <= record->with_objects;
    if (record->example == 0 || (none && block->held == PL_LOST))
        record->example = block->address;
    record->lost_objects += 1;
    record->lost_space += (double) block->size;
}

static bool add(struct making *making, const struct pl_census *census, const struct pl_census_block *block)
{
    struct pl_verdict_record *record = record_of(making, block->place);
    if (!record)
        return false;
    if (block->held == PL_HELD_INNER) {
        record->inner_objects += 1;
        record->inner_space += (double) block->size;
        record->inner_example = record->inner_example ? record->inner_example : block->address;
        return true;
    }
    add_lost(record, block);
    if (block->held == PL_LOST)
        return true;
    record->with_objects += 1;
    record->with_space += (double) block->size;
    struct pl_verdict_record *owner = record_of(making, census->block[block->owner].place);
    if (!owner)
        return false;
    owner->along_objects += 1;
    owner->along_space += (double) block->size;
    return true;
}

bool pl_records_make(struct pl_records *records, const struct pl_census *census, int profile)
{
    struct making making = {.records = records, .room = 64, .profile = profile};
    *records = (struct pl_records){.record = calloc(making.room, sizeof *records->record), .count = 1};
    making.known = calloc(PLACES, sizeof *making.known);
    bool good = records->record && making.known;
    for (uint32_t i = 0; good && i < census->count; i++)
        good = census->block[i].held == PL_HELD || add(&making, census, &census->block[i]);
    free(making.known);
    return good;
}

void pl_records_free(struct pl_records *records)
{
    free(records->record);
    *records = (struct pl_records){0};
}
