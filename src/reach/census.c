/* SPDX-License-Identifier: MIT */
/* census.c - see census.h. */
#include "reach/census.h"

#include <stdlib.h>
#include <string.h>

#include "core/blocks/blocks.h"

#define BLOCK_MOST (1ull << PL_ARCH_ADDRESS_BITS) /* bytes */
#define TOPS (1u << PL_REGION_TOP_BITS)
#define LOWS (1u << PL_REGION_LOW_BITS)
#define CHUNK_LEAST 32u
#define CHUNKS_MOST 8u
#define CHUNK_SLACK                                                                                                    \
    32u /* a chunk may be larger than it had to be by so much, if the rest was too small for another                   \
         */

/* ---- reading the table ---- */

struct reading {
    struct pl_census *census;
    struct pl_space *process;
    uint32_t granule_shift;
    uint64_t slot[PL_SPACE_WINDOW / 8 + 1]; /* one more: the size of a block is in the next slot */
};

bool pl_census_enter(struct pl_census *census, struct pl_census_block block)
{
    if (census->count == census->room) {
        uint32_t room = census->room ? 2 * census->room : 4096;
        struct pl_census_block *more = room > census->room ? realloc(census->block, room * sizeof *more) : NULL;
        if (!more)
            return false;
        census->block = more;
        census->room = room;
    }
    census->block[census->count++] = block;
    return true;
}

/* The address of the granule that slot number `index` of a slab stands for. */
static uint64_t address_of(const struct reading *reading, uint64_t region, uint64_t index)
{
    if (reading->granule_shift == 5)
        return region + (index << 5);
    return index < PL_BLOCK_ODD ? region + (index << 4) : region + ((index - PL_BLOCK_ODD) << 4) + 8;
}

static bool enter_small(struct reading *reading, uint64_t address, const uint64_t *slot)
{
    uint64_t size = slot[0] & PL_BLOCK_SIZE_NEXT;
    return pl_census_enter(reading->census, (struct pl_census_block){
                                                .address = address,
                                                .size = size == PL_BLOCK_SIZE_NEXT ? slot[1] : size,
                                                .place = (uint32_t) (slot[0] >> PL_BLOCK_TALLY_SHIFT),
                                                .vague = reading->granule_shift == 5,
                                            });
}

static bool enter_large(struct reading *reading, uint64_t address, const uint64_t *slot)
{
    return pl_census_enter(reading->census, (struct pl_census_block){
                                                .address = address + (slot[0] & PL_BLOCK_SIZE_NEXT) * 8,
                                                .size = slot[1],
                                                .place = (uint32_t) (slot[0] >> PL_BLOCK_TALLY_SHIFT),
                                            });
}

/* Slots from number `first` on. A slot without a tally is the second one of the block before it. */
static bool take_slots(struct reading *reading, uint64_t region, uint64_t first, size_t count, bool large)
{
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        const uint64_t *slot = &reading->slot[i];
        if (!(*slot >> PL_BLOCK_TALLY_SHIFT))
            continue;
        good = large ? enter_large(reading, region + ((first + i) << PL_BLOCK_LARGE_SHIFT), slot)
                     : enter_small(reading, address_of(reading, region, first + i), slot);
    }
    return good;
}

/* The word behind what was read has the size of the last block there. If its page was never written, that is no block
 * of two slots; reading it would make the kernel put a page there. */
static uint64_t word_behind(struct reading *reading, uint64_t at)
{
    uint64_t word = 0, start, stop;
    if (pl_space_touched(reading->process, at, at + sizeof word, &start, &stop))
        pl_space_read(reading->process, at, &word, sizeof word);
    return word;
}

/* A row of slots of one kind. Pages that were never written hold no block. */
static bool take_row(struct reading *reading, uint64_t region, uint64_t at, uint64_t slots, bool large)
{
    uint64_t end = at + slots * 8, start = at, stop;
    for (; pl_space_touched(reading->process, start, end, &start, &stop); start = stop)
        for (uint64_t from = start; from < stop; from += PL_SPACE_WINDOW) {
            size_t wanted = stop - from < PL_SPACE_WINDOW ? stop - from : PL_SPACE_WINDOW;
            if (pl_space_read(reading->process, from, reading->slot, wanted) != wanted)
                return false;
            reading->slot[wanted / 8] = word_behind(reading, from + wanted);
            if (!take_slots(reading, region, (from - at) / 8, wanted / 8, large))
                return false;
        }
    return true;
}

/* The blocks of the second row, from number `middle` on, go among those of the first one, by address. */
static bool merge_rows(struct pl_census *census, uint32_t first, uint32_t middle)
{
    uint32_t left = census->count - middle, to = census->count;
    struct pl_census_block *second = malloc((left + 1ull) * sizeof *second);
    if (!second)
        return false;
    memcpy(second, &census->block[middle], left * sizeof *second);
    while (left) {
        bool earlier = middle > first && census->block[middle - 1].address > second[left - 1].address;
        census->block[--to] = earlier ? census->block[--middle] : second[--left];
    }
    free(second);
    return true;
}

static bool take_slab(struct reading *reading, const struct pl_census_slab *slab)
{
    uint32_t first = reading->census->count;
    uint64_t slots =
        pl_block_index(&(struct pl_blocks){.granule_shift = reading->granule_shift}, (1ull << PL_REGION_SHIFT) - 1) + 1;
    if (!take_row(reading, slab->region, slab->at, slots, false))
        return false;
    uint32_t middle = reading->census->count;
    return take_row(reading, slab->region, slab->at - PL_BLOCK_LARGE_SLOTS * 8, PL_BLOCK_LARGE_SLOTS - PL_BLOCK_PAGE,
                    true) &&
           merge_rows(reading->census, first, middle);
}

/* ---- samples ---- */

static bool take_sample(void *context, const struct pl_sample *sample)
{
    struct pl_census *census = context;
    if (census->samples == census->sample_room) {
        uint32_t room = census->sample_room ? 2 * census->sample_room : 4096;
        struct pl_census_sample *more = realloc(census->sample, room * sizeof *more);
        if (!more)
            return false;
        census->sample = more;
        census->sample_room = room;
    }
    census->sample[census->samples] = (struct pl_census_sample){sample->weight, sample->row};
    return pl_census_enter(census, (struct pl_census_block){
                                       .address = sample->address,
                                       .size = sample->size,
                                       .place = PL_CENSUS_SAMPLED | census->samples++,
                                   });
}

/* ---- all of it ---- */

bool pl_census_take(struct pl_census *census, struct pl_space *space, const struct pl_census_table *table)
{
    struct reading *reading = malloc(sizeof *reading);
    bool good = reading;
    *census = (struct pl_census){.glibc = table->granule_shift == 5};
    if (reading) {
        reading->census = census;
        reading->process = space;
        reading->granule_shift = table->granule_shift;
    }
    for (uint32_t i = 0; i < table->count && good; i++)
        good = take_slab(reading, &table->slab[i]);
    for (uint32_t i = 0; i < table->levels && good; i++)
        good = pl_samples_read(space, &table->level[i], take_sample, census);
    free(reading);
    return good;
}

/* ---- finding the table ---- */

static bool add_slab(struct pl_census_table *table, const struct pl_blocks *blocks, uint64_t region, uint64_t at)
{
    if (!(table->count & (table->count - 1))) {
        size_t room = table->count ? 2 * (size_t) table->count : 1;
        struct pl_census_slab *more = realloc(table->slab, room * sizeof *more);
        if (!more)
            return false;
        table->slab = more;
    }
    uint64_t slots = pl_block_index(blocks, (1ull << PL_REGION_SHIFT) - 1) + 1 + PL_BLOCK_PAGE;
    table->slab[table->count++] = (struct pl_census_slab){
        .region = region,
        .at = at,
        .from = at - PL_BLOCK_FRONT * 8,
        .to = at + slots * 8,
    };
    return true;
}

static bool find_in_top(struct pl_census_table *table, struct pl_space *process, const struct pl_blocks *blocks,
                        uint32_t top)
{
    uint64_t low[LOWS];
    uint64_t at = (uint64_t) blocks->top[top];
    bool good = !at || pl_space_read(process, at, low, sizeof low) == sizeof low;
    for (uint64_t i = 0; at && good && i < LOWS; i++)
        if (low[i])
            good = add_slab(table, blocks, ((uint64_t) top << PL_REGION_LOW_BITS | i) << PL_REGION_SHIFT, low[i]);
    return good;
}

bool pl_census_find_table(struct pl_census_table *table, struct pl_space *process, uint64_t blocks_at, uint64_t live_at)
{
    struct pl_blocks *blocks = malloc(sizeof *blocks);
    *table = (struct pl_census_table){0};
    bool good = blocks && pl_space_read(process, blocks_at, blocks, sizeof *blocks) == sizeof *blocks;
    int levels = good && live_at ? pl_samples_find(process, live_at, table->level) : 0;
    good &= levels >= 0;
    table->levels = good ? (uint32_t) levels : 0;
    if (good)
        table->granule_shift = blocks->granule_shift;
    for (uint32_t top = 0; top < TOPS && good; top++)
        good = find_in_top(table, process, blocks, top);
    free(blocks);
    return good;
}

void pl_census_free_table(struct pl_census_table *table)
{
    free(table->slab);
    *table = (struct pl_census_table){0};
}

void pl_census_free(struct pl_census *census)
{
    pl_locate_free(&census->index);
    free(census->block);
    free(census->sample);
    free(census->heap);
    *census = (struct pl_census){0};
}

/* ---- exact addresses ---- */

/* Can this be what glibc has written at the beginning of a chunk, in this mapping? */
static bool is_heading(const struct pl_space_part *part, uint64_t chunk, uint64_t word)
{
    uint64_t bytes = word & ~(uint64_t) PL_CHUNK_FLAGS;
    bool here = !(word & PL_CHUNK_ELSEWHERE) || strcmp(part->name, "[heap]");
    return here && !(word & PL_CHUNK_MAPPED) && bytes % 16 == 0 && bytes >= CHUNK_LEAST && bytes <= part->to - chunk;
}

static bool fits(uint64_t word, uint64_t size)
{
    uint64_t bytes = word & ~(uint64_t) PL_CHUNK_FLAGS;
    uint64_t least = (size + 8 + 15) & ~15ull;
    least = least < CHUNK_LEAST ? CHUNK_LEAST : least;
    return bytes >= least && bytes <= least + CHUNK_SLACK;
}

/* How many chunks seem to follow each other, if a block of this size begins here; 0: it does not. The contents of a
 * block may look like one chunk, but hardly like several. */
static unsigned count_chunks(struct pl_space_window *window, uint64_t address, uint64_t size)
{
    const struct pl_space_part *part = pl_space_at(window->space, address);
    uint64_t chunk = address - PL_CHUNK_FRONT, word = pl_space_word(window, chunk + 8);
    unsigned count = 0;
    if (!part || !fits(word, size))
        return 0;
    while (count < CHUNKS_MOST && is_heading(part, chunk, word) && (count != 1 || word & PL_CHUNK_AFTER_USED)) {
        count++;
        chunk += word & ~(uint64_t) PL_CHUNK_FLAGS;
        if (chunk + PL_CHUNK_FRONT >= part->to)
            return CHUNKS_MOST;
        word = pl_space_word(window, chunk + 8);
    }
    return count;
}

/* Blocks mostly follow each other, so the chunk before a block says where it begins. If it does not, what glibc has
 * written there decides. */
static void settle_addresses(struct pl_census *census, struct pl_space_window *window)
{
    uint64_t expected = 0;
    for (uint32_t i = 0; i < census->count; i++) {
        struct pl_census_block *block = &census->block[i];
        uint64_t other = block->address + 16;
        bool sure = block->address == expected || !block->vague;
        if (!sure && (other == expected ||
                      count_chunks(window, other, block->size) > count_chunks(window, block->address, block->size)))
            block->address = other;
        block->vague = false;
        expected = 0;
        if (i + 1 == census->count || !block[1].vague)
            continue;
        uint64_t chunk = pl_space_word(window, block->address - 8);
        expected = chunk & PL_CHUNK_MAPPED ? 0 : block->address + (chunk & ~(uint64_t) PL_CHUNK_FLAGS);
    }
}

/* ---- looking up ---- */

static int by_address(const void *left, const void *right)
{
    const struct pl_census_block *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* Blocks are found by address, one table after the other: the second one is sorted, and goes among the first. */
bool pl_census_sort(struct pl_census *census)
{
    struct pl_census_block *block = census->block;
    uint32_t sorted = 1;
    while (sorted < census->count && block[sorted - 1].address <= block[sorted].address)
        sorted++;
    if (sorted >= census->count)
        return true;
    qsort(block + sorted, census->count - sorted, sizeof *block, by_address);
    return merge_rows(census, 0, sorted);
}

/* Two blocks at one address: the first is an older one whose free was not seen. What cannot be, a process has written
 * over its table. */
static void leave_out_stale(struct pl_census *census)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < census->count; i++) {
        struct pl_census_block block = census->block[i];
        if (block.address % 8 || block.address >= BLOCK_MOST)
            continue;
        if (block.size > BLOCK_MOST - block.address)
            block.size = BLOCK_MOST - block.address;
        kept -= kept && census->block[kept - 1].address >= block.address;
        census->block[kept++] = block;
    }
    census->count = kept;
}

static struct pl_locate_block extent_of(const void *context, uint32_t number)
{
    const struct pl_census_block *block = &((const struct pl_census *) context)->block[number];
    return (struct pl_locate_block){block->address, block->address + block->size};
}

static bool make_index(struct pl_census *census)
{
    unsigned granule_shift = 4;
    leave_out_stale(census);
    for (uint32_t i = 0; i < census->count; i++)
        granule_shift = census->block[i].address % 16 ? 3 : granule_shift;
    return pl_locate_make(&census->index, census->count, granule_shift, extent_of, census);
}

bool pl_census_settle(struct pl_census *census, struct pl_space *space)
{
    struct pl_space_window window = {.space = space, .word = malloc(PL_SPACE_WORDS)};
    bool good = window.word && (census->walked || pl_census_sort(census));
    if (good && census->glibc) /* blocks in chunks that were walked are not vague */
        settle_addresses(census, &window);
    free(window.word);
    return good && make_index(census);
}

uint32_t pl_census_before(const struct pl_census *census, uint64_t address)
{
    bool begins;
    uint32_t low = 0, high = census->count, count = pl_locate_count(&census->index, address, &begins);
    if (count && census->block[count - 1].address <= address)
        return count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (census->block[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : PL_CENSUS_NONE;
}

uint32_t pl_census_find(const struct pl_census *census, uint64_t address)
{
    bool begins;
    uint32_t block = pl_locate_count(&census->index, address, &begins) - 1;
    return pl_census_holds(census, block, address, begins) ? block : PL_CENSUS_NONE;
}
