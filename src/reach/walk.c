/* SPDX-License-Identifier: MIT */
/* walk.c - see walk.h. */
#include "reach/walk.h"

#include <stdlib.h>
#include <string.h>

#include "reach/memory/ranges.h"

#define GAP_MOST 4096u        /* bytes between two blocks that are read with them */
#define RUN_MOST (256u << 10) /* bytes: a larger block may have pages that were never touched */
#define INNERMOST 4096u       /* bytes of a stack in which a function that was interrupted has its pointers */

/* ---- words ---- */

/* glibc's lists of free chunks point to chunks, and a block reaches 8 bytes into the chunk behind it: no pointer. */
static bool is_bookkeeping(const struct pl_walk *walk, const struct pl_census_block *block, uint64_t word)
{
    uint64_t chunk = 0;
    if (!walk->bookkeeping || word % 16 || word - block->address + 8 < block->size)
        return false;
    if (!walk->census->glibc || pl_space_read(walk->space, block->address - 8, &chunk, 8) != 8)
        return false;
    return word == block->address - PL_CHUNK_FRONT + (chunk & ~(uint64_t) PL_CHUNK_FLAGS);
}

/* Looking up a pointer has to wait for memory twice. Several are looked up together, so that they wait together. */
static void follow_hits(struct pl_walk *walk)
{
    uint32_t block[PL_WALK_HITS], from = walk->from;
    bool begins[PL_WALK_HITS];
    for (unsigned i = 0; i < walk->hits; i++) {
        block[i] = pl_locate_count(&walk->census->index, walk->hit[i].word, &begins[i]) - 1;
        if (walk->mark && block[i] != PL_CENSUS_NONE)
            __builtin_prefetch(&walk->mark[block[i]]);
        if (!begins[i] && block[i] != PL_CENSUS_NONE)
            __builtin_prefetch(&walk->census->block[block[i]]);
    }
    for (unsigned i = 0; i < walk->hits; i++) {
        const struct pl_walk_hit *hit = &walk->hit[i];
        if (!pl_census_holds(walk->census, block[i], hit->word, begins[i]) || block[i] == hit->from)
            continue;
        walk->from = hit->from;
        if (begins[i] || !is_bookkeeping(walk, &walk->census->block[block[i]], hit->word))
            walk->meet(walk, block[i], begins[i], hit->at);
    }
    walk->from = from;
    walk->hits = 0;
}

static void note(struct pl_walk *walk, uint64_t word, uint64_t at)
{
    const struct pl_locate_line *line = pl_locate_line(&walk->census->index, word);
    if (!line)
        return;
    __builtin_prefetch(line);
    walk->hit[walk->hits++] = (struct pl_walk_hit){word, at, walk->from};
    if (walk->hits == PL_WALK_HITS)
        follow_hits(walk);
}

/* `at` is the address of the first word; 0: they are registers. One comparison tells most data from addresses. */
static void scan_words(struct pl_walk *walk, uint64_t at, const uint64_t *word, size_t count)
{
    const uint64_t low = walk->low, extent = walk->high - walk->low;
    for (size_t i = 0; i < count; i++)
        if (unlikely(word[i] - low <= extent))
            note(walk, word[i], at ? at + 8 * i : 0);
}

static void scan(struct pl_walk *walk, uint64_t at, const uint64_t *word, size_t count)
{
    scan_words(walk, at, word, count);
    follow_hits(walk);
}

/* ---- blocks ---- */

static uint64_t end_of(const struct pl_census_block *block)
{
    return block->address + (block->size & ~7ull);
}

/* Pages that were never touched have no pointers, and are not read: reading would make the kernel map them. Those that
 * are shared may be touched although this process has not done it. */
static void scan_part(struct pl_walk *walk, const struct pl_space_part *part, uint64_t from, uint64_t to)
{
    uint64_t begin = from, end = to;
    for (; part->shared ? begin < to : pl_space_touched(walk->space, begin, to, &begin, &end); begin = end)
        for (uint64_t at = begin; at < end && !walk->space->stopped; at += PL_SPACE_WINDOW) {
            uint64_t bytes = end - at < PL_SPACE_WINDOW ? end - at : PL_SPACE_WINDOW;
            pl_space_fill(walk->space, at, walk->buffer, bytes);
            scan(walk, at, walk->buffer, bytes / 8);
        }
}

/* Only what is mapped: a process that has written over its table may have a block of any size. */
static void scan_large(struct pl_walk *walk, uint32_t number)
{
    const struct pl_census_block *block = &walk->census->block[number];
    const struct pl_space *space = walk->space;
    uint64_t from = block->address, to = end_of(block);
    walk->from = number;
    for (size_t i = pl_ranges_from(space->part, space->count, sizeof *space->part, from); i < space->count; i++) {
        const struct pl_space_part *part = &space->part[i];
        if (part->from >= to)
            break;
        scan_part(walk, part, part->from > from ? part->from : from, part->to < to ? part->to : to);
    }
}

/* Blocks that lie side by side, in one piece. Returns the first block behind them. */
static uint32_t scan_run(struct pl_walk *walk, uint32_t first)
{
    const struct pl_census_block *block = walk->census->block;
    uint64_t from = block[first].address, to = end_of(&block[first]);
    uint32_t behind = first + 1;
    for (; behind < walk->census->count; behind++) {
        uint64_t end = end_of(&block[behind]);
        if (block[behind].size > RUN_MOST || block[behind].address > to + GAP_MOST || end - from > PL_SPACE_WINDOW)
            break;
        to = end > to ? end : to;
    }
    pl_space_fill(walk->space, from, walk->buffer, to - from);
    for (uint32_t i = first; i < behind; i++) {
        walk->from = i;
        scan_words(walk, block[i].address, walk->buffer + (block[i].address - from) / 8, block[i].size / 8);
    }
    follow_hits(walk);
    return behind;
}

void pl_walk_blocks(struct pl_walk *walk)
{
    walk->bookkeeping = false;
    for (uint32_t i = 0; i < walk->census->count && !walk->space->stopped;)
        if (walk->census->block[i].size > RUN_MOST)
            scan_large(walk, i++);
        else
            i = scan_run(walk, i);
}

/* ---- roots ---- */

/* A word of a thread's descriptor points behind the head of the vector of thread-local storage, which is a
 * block. Those of threads that have ended are kept for new threads. */
static void scan_storage_of(struct pl_walk *walk, uint64_t descriptor)
{
    uint64_t vector = 0;
    if (pl_space_read(walk->space, descriptor + PL_MACHINE_STORAGE, &vector, 8) != 8)
        return;
    uint32_t block = pl_census_find(walk->census, vector);
    if (block != PL_CENSUS_NONE)
        walk->meet(walk, block, true, descriptor + PL_MACHINE_STORAGE);
}

static void scan_storage(struct pl_walk *walk)
{
    for (size_t i = 0; i < walk->roots->threads; i++)
        scan_storage_of(walk, walk->roots->thread[i].descriptor);
    for (size_t i = 0; i < walk->roots->ended_count; i++)
        scan_storage_of(walk, walk->roots->ended[i]);
}

/* Between two known blocks. */
static void scan_between(struct pl_walk *walk, uint64_t from, uint64_t to, const uint64_t *word)
{
    while (from < to) {
        uint32_t before = pl_census_before(walk->census, from), next = before + 1; /* NONE + 1 is 0 */
        uint64_t end = to;
        if (before != PL_CENSUS_NONE) {
            const struct pl_census_block *block = &walk->census->block[before];
            uint64_t behind = (block->address + block->size + 7) & ~7ull;
            if (behind > from) {
                word += ((behind < to ? behind : to) - from) / 8;
                from = behind;
                continue;
            }
        }
        if (next < walk->census->count && walk->census->block[next].address < to)
            end = walk->census->block[next].address & ~7ull;
        scan(walk, from, word, (end - from) / 8);
        word += (end - from) / 8;
        from = end;
    }
}

static bool points_to_itself(const uint64_t *word, uint64_t at)
{
    return word[0] == word[1] && word[0] + 16 == at;
}

/* glibc's main arena is among libc's data. A bin without chunks points to itself, so that the bins can be recognized.
 */
static bool has_bins(const uint64_t *word, size_t count, uint64_t from)
{
    size_t bins = 0;
    for (size_t i = 0; i + 1 < count; i++)
        bins += points_to_itself(&word[i], from + 8 * i);
    return bins > 8;
}

static void scan_stretch(struct pl_walk *walk, uint64_t from, uint64_t to, bool allocator)
{
    while (from < to) {
        size_t got =
            pl_space_read(walk->space, from, walk->buffer, to - from < PL_SPACE_WINDOW ? to - from : PL_SPACE_WINDOW);
        got &= ~(size_t) 7;
        walk->bookkeeping = allocator || has_bins(walk->buffer, got / 8, from);
        scan_between(walk, from, from + got, walk->buffer);
        from = got ? from + got : (from | 4095) + 1;
    }
}

static void scan_piece(struct pl_walk *walk, const struct pl_roots_piece *piece)
{
    uint64_t begin = piece->from, end;
    if (piece->shared)
        scan_stretch(walk, piece->from, piece->to, piece->allocator);
    else
        for (; pl_space_touched(walk->space, begin, piece->to, &begin, &end); begin = end)
            scan_stretch(walk, begin, end, piece->allocator);
}

/* A thread that was interrupted in malloc or realloc has a pointer to a block that the profiler does not know at this
 * moment. What that points to is held. */
static void scan_unknown(struct pl_walk *walk, const uint64_t *word, size_t count)
{
    static uint64_t contents[PL_SPACE_WINDOW / 8];
    for (size_t i = 0; i < count; i++) {
        const struct pl_roots_piece *heap = pl_roots_heap(walk->roots, word[i]);
        uint64_t chunk = 0;
        if (word[i] % 16 || !heap || pl_census_find(walk->census, word[i]) != PL_CENSUS_NONE ||
            pl_space_read(walk->space, word[i] - 8, &chunk, 8) != 8)
            continue;
        uint64_t bytes = (chunk & ~(uint64_t) PL_CHUNK_FLAGS) - PL_CHUNK_FRONT;
        if (bytes > heap->to - word[i])
            continue;
        for (uint64_t at = word[i]; at < word[i] + bytes;) {
            uint64_t left = word[i] + bytes - at;
            size_t got = pl_space_read(walk->space, at, contents, left < sizeof contents ? left : sizeof contents);
            walk->bookkeeping = true;
            scan_between(walk, at, at + (got & ~(size_t) 7), contents);
            at = got ? at + got : word[i] + bytes;
        }
    }
}

static void scan_thread(struct pl_walk *walk, const struct pl_roots_thread *thread)
{
    uint64_t innermost[INNERMOST / 8];
    uint64_t from = (thread->sp - PL_ARCH_RED_ZONE) & ~7ull;
    size_t got = pl_space_read(walk->space, from, innermost, sizeof innermost) / 8;
    walk->from = PL_CENSUS_NONE;
    walk->bookkeeping = false;
    scan(walk, 0, thread->word, thread->words);
    scan(walk, from, innermost, got); /* a stack may lie in a block that nothing else points to */
    scan_unknown(walk, thread->word, thread->words);
    scan_unknown(walk, innermost, got);
}

void pl_walk_roots(struct pl_walk *walk)
{
    for (size_t i = 0; i < walk->roots->threads; i++) {
        walk->thread = &walk->roots->thread[i];
        scan_thread(walk, walk->thread);
    }
    walk->thread = NULL;
    scan_storage(walk);
    walk->from = PL_CENSUS_NONE;
    for (size_t i = 0; i < walk->roots->pieces; i++)
        scan_piece(walk, &walk->roots->piece[i]);
}

/* ---- from begin to end ---- */

bool pl_walk_begin(struct pl_walk *walk, struct pl_census *census, const struct pl_roots *roots, struct pl_space *space)
{
    *walk = (struct pl_walk){.census = census, .roots = roots, .space = space, .from = PL_CENSUS_NONE};
    walk->buffer = malloc(PL_SPACE_WINDOW);
    walk->low = walk->high = UINT64_MAX;
    for (uint32_t i = 0; i < census->count; i++) {
        uint64_t end = census->block[i].address + census->block[i].size;
        walk->high = i == 0 || end > walk->high ? end : walk->high;
    }
    if (census->count)
        walk->low = census->block[0].address;
    return walk->buffer;
}

void pl_walk_end(struct pl_walk *walk)
{
    free(walk->buffer);
    *walk = (struct pl_walk){0};
}
