/* SPDX-License-Identifier: MIT */
/* chunks.c - see chunks.h. */
#include "reach/chunks.h"

#include <stdlib.h>
#include <string.h>

#include "reach/memory/heap.h"

#define WORD 8u
#define HEADINGS_MOST (1u << 18) /* pages that may be looked at to find chunks with mappings of their own */

/* A thread's cache is a block: counters, then the first block of each list. */
#define CACHE_LISTS 64u
#define CACHE_SLACK 1u /* a thread that was interrupted in malloc may be about to count */
struct cache {
    uint16_t count[CACHE_LISTS];
    uint64_t first[CACHE_LISTS];
};
#define CACHE_CHUNK ((uint64_t) sizeof(struct cache) + 16)

/* The front of an arena, from glibc 2.27 on. */
#define FASTBINS 10u
#define BINS 254u
struct arena {
    uint32_t mutex, flags, have_fastchunks, unused;
    uint64_t fastbin[FASTBINS]; /* chunks, not blocks */
    uint64_t top, last_remainder;
    uint64_t bin[BINS];
};
#define BINS_BEHIND 96u /* an empty bin points to this many bytes behind the arena's begin, as if it were a chunk */
#define BINS_LEAST 8u   /* empty ones that an arena must have: 127 bins are hardly ever all in use */
#define LIST_MOST 100000u

#define LEAST_CHUNK 32u
#define STEP 16u

struct list {
    uint64_t *at;
    uint32_t count, room;
};

struct chunks {
    struct pl_census *census;
    struct pl_space *space;
    struct pl_present pages;
    struct pl_words words;
    struct pl_census recorded; /* what the profiler knows, by address */
    uint32_t next;             /* the first of them that is not before the chunk */
    struct list caches;        /* blocks that may be a thread's cache */
    struct list arenas;        /* where arenas begin */
    struct list unused;        /* blocks that malloc keeps */
    uint64_t main_top;         /* the last chunk of the main heap; 0: not known */
    bool main, full;           /* full: no memory */
    uint32_t headings;
};

static void push(struct chunks *chunks, struct list *list, uint64_t at)
{
    if (list->count == list->room) {
        uint32_t room = list->room ? 2 * list->room : 256;
        uint64_t *more = realloc(list->at, room * sizeof *more);
        chunks->full |= !more;
        if (!more)
            return;
        list->at = more;
        list->room = room;
    }
    list->at[list->count++] = at;
}

/* ---- chunks in use ---- */

/* The recorded block that begins where the chunk's does; NULL: none. Chunks come by address. */
static struct pl_census_block *recorded_at(struct chunks *chunks, uint64_t address)
{
    struct pl_census *recorded = &chunks->recorded;
    while (chunks->next < recorded->count && recorded->block[chunks->next].address + STEP < address)
        chunks->next++;
    for (uint32_t i = chunks->next; i < recorded->count && recorded->block[i].address <= address; i++) {
        struct pl_census_block *block = &recorded->block[i];
        if (block->address == address || (block->vague && block->address + STEP == address))
            return block;
    }
    return NULL;
}

/* A recorded block that is in no chunk remains: `owner` marks the others. */
static void enter_used(struct chunks *chunks, uint64_t address, uint64_t bytes)
{
    struct pl_census_block *recorded = recorded_at(chunks, address);
    struct pl_census_block block = {.address = address, .size = bytes, .place = PL_CENSUS_UNRECORDED};
    if (recorded && recorded->size <= bytes) {
        block.size = recorded->size;
        block.place = recorded->place;
        recorded->owner = PL_CENSUS_NONE;
    } else if (bytes == sizeof(struct cache) + WORD) {
        push(chunks, &chunks->caches, address);
    }
    chunks->full |= !pl_census_enter(chunks->census, block);
}

static void meet(void *context, const struct pl_chunk *chunk)
{
    struct chunks *chunks = context;
    if (chunk->state == PL_CHUNK_USED)
        enter_used(chunks, chunk->block, chunk->bytes - WORD);
    else if (chunk->state == PL_CHUNK_TOP && chunks->main)
        chunks->main_top = chunk->block - PL_CHUNK_FRONT;
}

static void enter_heap(struct chunks *chunks, uint64_t from, uint64_t to)
{
    struct pl_census *census = chunks->census;
    if (!(census->heaps & (census->heaps - 1))) {
        size_t room = census->heaps ? 2 * (size_t) census->heaps : 1;
        struct pl_census_heap *more = realloc(census->heap, room * sizeof *more);
        chunks->full |= !more;
        if (!more)
            return;
        census->heap = more;
    }
    census->heap[census->heaps++] = (struct pl_census_heap){from, to};
}

static void seek(struct chunks *chunks, uint64_t from)
{
    uint32_t low = 0, high = chunks->recorded.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (chunks->recorded.block[middle].address + STEP < from)
            low = middle + 1;
        else
            high = middle;
    }
    chunks->next = low;
}

static void walk(struct chunks *chunks, const struct pl_heap *heap)
{
    chunks->main = heap->main;
    seek(chunks, heap->from);
    uint64_t end = pl_heap_walk(&chunks->words, heap, meet, chunks);
    enter_heap(chunks, heap->main ? heap->first : heap->from, end);
}

/* ---- where chunks are ---- */

/* Pages that were never touched have no chunk; there may be terabytes of them. */
static uint64_t next_touched(struct chunks *chunks, uint64_t at, uint64_t to)
{
    uint64_t end;
    if (at < to && pl_present_state(&chunks->pages, at) == PL_PAGE_UNTOUCHED)
        pl_space_touched(chunks->space, at, to, &at, &end);
    return at < to ? at & ~(uint64_t) (PL_PAGE - 1) : to;
}

/* Chunks with mappings of their own. The kernel joins mappings, so one may begin at any page. Where one is not found,
 * it is a root. */
static void find_mapped(struct chunks *chunks, uint64_t from, uint64_t to)
{
    uint64_t bytes;
    seek(chunks, from);
    while ((from = next_touched(chunks, from, to)) < to && chunks->headings++ < HEADINGS_MOST) {
        if (pl_heap_find_mapped(&chunks->words, from, to, &bytes)) {
            enter_used(chunks, from + PL_CHUNK_FRONT, bytes - PL_CHUNK_FRONT);
            from += bytes;
        } else {
            from += PL_PAGE;
        }
    }
}

/* Heaps of other arenas begin at multiples of 64 MiB. */
static void look_into(struct chunks *chunks, const struct pl_space_part *part)
{
    uint64_t at = part->from, next = (part->from + PL_HEAP_SPAN - 1) / PL_HEAP_SPAN * PL_HEAP_SPAN, arena;
    struct pl_heap heap;
    for (; next < part->to; next += PL_HEAP_SPAN) {
        if (pl_present_state(&chunks->pages, next) == PL_PAGE_UNTOUCHED ||
            !pl_heap_find(&chunks->words, next, part->to, &heap))
            continue;
        find_mapped(chunks, at, next);
        walk(chunks, &heap);
        if (pl_words_read(&chunks->words, heap.from, &arena) && arena - heap.from < heap.to - heap.from)
            push(chunks, &chunks->arenas, arena);
        at = heap.to;
    }
    find_mapped(chunks, at, part->to);
}

static void look_everywhere(struct chunks *chunks)
{
    for (size_t i = 0; i < chunks->space->count && !chunks->full; i++) {
        const struct pl_space_part *part = &chunks->space->part[i];
        struct pl_heap heap;
        if (!part->anonymous || !part->writable || !part->readable || part->shared || part->ours)
            continue;
        if (!*part->name)
            look_into(chunks, part);
        else if (!strcmp(part->name, "[heap]") && pl_heap_find_main(&chunks->words, part, &heap))
            walk(chunks, &heap);
    }
}

/* ---- blocks that malloc keeps ---- */

static const struct pl_census_block *block_at(const struct pl_census *census, uint64_t address)
{
    uint32_t found = pl_census_before(census, address);
    return found != PL_CENSUS_NONE && census->block[found].address == address ? &census->block[found] : NULL;
}

/* From 2.32 on, a pointer within a list is mangled with its own address. */
static uint64_t follow(struct chunks *chunks, uint64_t at, bool mangled)
{
    uint64_t word = 0;
    pl_space_read(chunks->space, at, &word, sizeof word);
    return mangled ? word ^ at >> 12 : word;
}

/* Notes the blocks of a list, if all of them are chunks of this size that nobody has recorded. `front` is how far
 * before its block a list points. Returns how many; 0: it makes no sense. */
static uint32_t take_list(struct chunks *chunks, uint64_t first, uint64_t chunk, uint64_t front, bool mangled)
{
    uint32_t before = chunks->unused.count;
    for (uint64_t at = first; at && !chunks->full;) {
        const struct pl_census_block *block = block_at(chunks->census, at + front);
        if (!block || block->place != PL_CENSUS_UNRECORDED || block->size + WORD != chunk ||
            chunks->unused.count - before == LIST_MOST) {
            chunks->unused.count = before;
            return 0;
        }
        push(chunks, &chunks->unused, block->address);
        at = follow(chunks, block->address, mangled);
    }
    return chunks->unused.count - before;
}

static uint32_t take_either(struct chunks *chunks, uint64_t first, uint64_t chunk, uint64_t front)
{
    uint32_t count = take_list(chunks, first, chunk, front, true);
    return count ? count : take_list(chunks, first, chunk, front, false);
}

static void take_cache(struct chunks *chunks, uint64_t at)
{
    struct cache cache;
    uint32_t before = chunks->unused.count;
    if (pl_space_read(chunks->space, at, &cache, sizeof cache) != sizeof cache)
        return;
    for (unsigned i = 0; i < CACHE_LISTS; i++) {
        uint32_t count = cache.first[i] ? take_either(chunks, cache.first[i], LEAST_CHUNK + STEP * i, 0) : 0;
        bool sound = cache.first[i]
                         ? count && count <= cache.count[i] + CACHE_SLACK && count + CACHE_SLACK >= cache.count[i]
                         : cache.count[i] <= CACHE_SLACK;
        if (!sound) {
            chunks->unused.count = before;
            return;
        }
    }
}

static bool is_arena(struct chunks *chunks, uint64_t at, struct arena *arena)
{
    unsigned empty = 0;
    if (pl_space_read(chunks->space, at, arena, sizeof *arena) != sizeof *arena)
        return false;
    for (unsigned i = 0; i + 1 < BINS; i += 2) {
        uint64_t self = at + BINS_BEHIND + 8ull * i;
        bool points_to_itself = arena->bin[i] == self;
        if (points_to_itself != (arena->bin[i + 1] == self))
            return false;
        empty += points_to_itself;
    }
    return empty >= BINS_LEAST;
}

static void take_fastbins(struct chunks *chunks, uint64_t at)
{
    struct arena arena;
    if (!is_arena(chunks, at, &arena))
        return;
    for (unsigned i = 0; i < FASTBINS; i++)
        if (arena.fastbin[i])
            take_either(chunks, arena.fastbin[i], LEAST_CHUNK + STEP * i, PL_CHUNK_FRONT);
}

/* The main arena is among libc's data. It has the address of the last chunk of its heap. */
static void find_main_arena(struct chunks *chunks)
{
    struct pl_space_window window = {.space = chunks->space, .word = malloc(PL_SPACE_WORDS)};
    chunks->full |= !window.word;
    for (size_t i = 0; window.word && chunks->main_top && i < chunks->space->count; i++) {
        const struct pl_space_part *part = &chunks->space->part[i];
        bool data =
            part->writable && part->readable && !part->shared && (!part->anonymous || i == 0 || !part[-1].anonymous);
        for (uint64_t at = part->from; data && at < part->to; at += 8)
            if (pl_space_word(&window, at) == chunks->main_top && at - part->from >= offsetof(struct arena, top))
                take_fastbins(chunks, at - offsetof(struct arena, top));
    }
    free(window.word);
}

static int ascending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *) left, b = *(const uint64_t *) right;
    return a < b ? -1 : a > b;
}

static void leave_out_unused(struct chunks *chunks)
{
    struct pl_census *census = chunks->census;
    const struct list *unused = &chunks->unused;
    uint32_t kept = 0, next = 0;
    if (unused->count)
        qsort(unused->at, unused->count, sizeof *unused->at, ascending);
    for (uint32_t i = 0; i < census->count; i++) {
        while (next < unused->count && unused->at[next] < census->block[i].address)
            next++;
        if (next == unused->count || unused->at[next] != census->block[i].address)
            census->block[kept++] = census->block[i];
    }
    census->count = kept;
}

/* ---- from begin to end ---- */

static void enter_rest(struct chunks *chunks)
{
    const struct pl_census *recorded = &chunks->recorded;
    bool any = false;
    for (uint32_t i = 0; i < recorded->count && !chunks->full; i++)
        if (recorded->block[i].owner != PL_CENSUS_NONE) {
            struct pl_census_block block = recorded->block[i];
            chunks->full |= !pl_census_enter(chunks->census, block);
            any = true;
        }
    if (any)
        chunks->full |= !pl_census_sort(chunks->census);
}

static void take_all(struct chunks *chunks)
{
    chunks->full |= !pl_census_sort(&chunks->recorded);
    look_everywhere(chunks);
    enter_rest(chunks);
    for (uint32_t i = 0; i < chunks->caches.count && !chunks->full; i++)
        take_cache(chunks, chunks->caches.at[i]);
    for (uint32_t i = 0; i < chunks->arenas.count && !chunks->full; i++)
        take_fastbins(chunks, chunks->arenas.at[i]);
    find_main_arena(chunks);
    leave_out_unused(chunks);
    chunks->census->walked = chunks->census->heaps > 0;
}

bool pl_chunks_take(struct pl_census *census, struct pl_space *space)
{
    struct chunks *chunks = calloc(1, sizeof *chunks);
    if (!chunks)
        return false;
    chunks->census = census;
    chunks->space = space;
    chunks->recorded = (struct pl_census){.block = census->block, .count = census->count};
    census->block = NULL;
    census->count = census->room = 0;
    pl_present_open(&chunks->pages, space->pid);
    chunks->full = !pl_words_open(&chunks->words, space, &chunks->pages);
    if (!chunks->full)
        take_all(chunks);
    bool good = !chunks->full;
    pl_words_close(&chunks->words);
    pl_present_close(&chunks->pages);
    free(chunks->recorded.block);
    free(chunks->caches.at);
    free(chunks->arenas.at);
    free(chunks->unused.at);
    free(chunks);
    return good;
}
