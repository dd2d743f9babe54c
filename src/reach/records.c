/* SPDX-License-Identifier: MIT */
/* records.c - see records.h. */
#include "reach/records.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/blocks/blocks.h"
#include "core/records/sums.h"

#define PLACES (PL_BLOCK_TALLY_MAX + 1ull)
#define PLACE_BYTES 64

struct making {
    struct pl_records *records;
    uint32_t room;
    uint32_t *known; /* place -> its record; 0: none yet. Rows follow behind all places */
    const struct pl_census *census;
    const struct pl_records_source *source;
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

static const struct pl_census_sample *sample_of(const struct making *making, uint32_t place)
{
    return place & PL_CENSUS_SAMPLED ? &making->census->sample[place & ~PL_CENSUS_SAMPLED] : NULL;
}

static struct pl_verdict_record begin_of(const struct making *making, uint32_t place)
{
    const struct pl_census_sample *sample = sample_of(making, place);
    if (!sample)
        return begin(making->source->profile, place);
    const struct pl_row *row = &making->source->row[sample->row];
    return (struct pl_verdict_record){.site = row->site, .thread = row->thread};
}

/* NULL: no memory. */
static struct pl_verdict_record *record_of(struct making *making, uint32_t place)
{
    struct pl_records *records = making->records;
    const struct pl_census_sample *sample = sample_of(making, place);
    uint32_t *number = &making->known[sample ? PLACES + sample->row : place];
    if (*number)
        return &records->record[*number];
    if (records->count == making->room) {
        uint32_t room = 2 * making->room;
        struct pl_verdict_record *more = realloc(records->record, room * sizeof *more);
        if (!more)
            return NULL;
        records->record = more;
        making->room = room;
    }
    *number = records->count++;
    records->record[*number] = begin_of(making, place);
    return &records->record[*number];
}

static double weight_of(const struct making *making, const struct pl_census_block *block)
{
    const struct pl_census_sample *sample = sample_of(making, block->place);
    return sample ? sample->weight : 1;
}

/* The example is the first block that is lost by itself; else the first that is lost with another. */
static void add_lost(const struct making *making, struct pl_verdict_record *record, const struct pl_census_block *block)
{
    const struct pl_census_sample *sample = sample_of(making, block->place);
    bool none = record->lost_objects + record->sampled.objects <= record->with_objects;
    if (record->example == 0 || (none && block->held == PL_LOST))
        record->example = block->address;
    if (sample) {
        pl_sums_add(&record->sampled, (double) block->size, sample->weight);
    } else {
        record->lost_objects += 1;
        record->lost_space += (double) block->size;
    }
}

static bool is_recorded(const struct making *making, uint32_t place)
{
    const struct pl_census_sample *sample = sample_of(making, place);
    return sample ? sample->row < making->source->rows : place != PL_CENSUS_UNRECORDED;
}

static bool add(struct making *making, const struct pl_census_block *block)
{
    struct pl_verdict_record *record = record_of(making, block->place);
    double weight = weight_of(making, block), space = weight * (double) block->size;
    if (!record)
        return false;
    if (block->held == PL_HELD_INNER) {
        record->inner_objects += weight;
        record->inner_space += space;
        record->inner_example = record->inner_example ? record->inner_example : block->address;
        return true;
    }
    add_lost(making, record, block);
    if (block->held == PL_LOST)
        return true;
    record->with_objects += weight;
    record->with_space += space;
    uint32_t place = making->census->block[block->owner].place;
    struct pl_verdict_record *owner = is_recorded(making, place) ? record_of(making, place) : NULL;
    if (owner) {
        owner->along_objects += weight;
        owner->along_space += space;
    }
    return owner || !is_recorded(making, place);
}

bool pl_records_make(struct pl_records *records, const struct pl_census *census, const struct pl_records_source *source)
{
    struct making making = {.records = records, .room = 64, .census = census, .source = source};
    *records = (struct pl_records){.record = calloc(making.room, sizeof *records->record), .count = 1};
    making.known = calloc(PLACES + source->rows, sizeof *making.known);
    bool good = records->record && making.known;
    for (uint32_t i = 0; good && i < census->count; i++) {
        const struct pl_census_block *block = &census->block[i];
        if (block->held != PL_HELD && is_recorded(&making, block->place))
            good = add(&making, block);
    }
    free(making.known);
    return good;
}

void pl_records_free(struct pl_records *records)
{
    free(records->record);
    *records = (struct pl_records){0};
}
