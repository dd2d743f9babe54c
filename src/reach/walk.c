/* SPDX-License-Identifier: MIT */
/* walk.c - see walk.h. */
#include "reach/walk.h"

#include <stdlib.h>
#include <string.h>

#define NEAR_MOST 4096u /* bytes: larger blocks are worth a call of the kernel */
#define INNERMOST 4096u /* bytes of a stack in which a function that was interrupted has its pointers */

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

/* `at` is the address of the first word; 0: they are registers. */
static void scan(struct pl_walk *walk, uint64_t at, const uint64_t *word, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (word[i] - walk->low > walk->high - walk->low)
            continue;
        uint32_t block = pl_census_find(walk->census, word[i]);
        if (block == PL_CENSUS_NONE || block == walk->from)
            continue;
        bool begins = word[i] == walk->census->block[block].address;
        if (begins || !is_bookkeeping(walk, &walk->census->block[block], word[i]))
            walk->meet(walk, block, begins, at ? at + 8 * i : 0);
    }
}

/* ---- blocks ---- */

static void scan_large(struct pl_walk *walk, uint32_t number)
{
    const struct pl_census_block *block = &walk->census->block[number];
    walk->from = number;
    for (uint64_t at = 0; at + 8 <= block->size && !walk->space->stopped; at += PL_SPACE_WINDOW) {
        uint64_t left = block->size - at, bytes = left < PL_SPACE_WINDOW ? left & ~7ull : PL_SPACE_WINDOW;
        struct pl_space_piece piece = {block->address + at, bytes};
        pl_space_gather(walk->space, &piece, 1, walk->buffer);
        scan(walk, piece.from, walk->buffer, bytes / 8);
    }
}

/* One call of the kernel for each block would take most of the time in a list, whose blocks come one at a time. Often
 * each is near the one before it. */
static bool is_near(const struct pl_walk *walk, const struct pl_space_piece *piece)
{
    return piece->bytes <= NEAR_MOST && piece->from - walk->window.from + PL_SPACE_WORDS < 3 * PL_SPACE_WORDS;
}

static void read_near(struct pl_walk *walk, const struct pl_space_piece *piece)
{
    for (size_t i = 0; i < piece->bytes / 8; i++)
        walk->buffer[i] = pl_space_word(&walk->window, piece->from + 8 * i);
}

static void read_blocks(struct pl_walk *walk, const struct pl_space_piece *piece, size_t count)
{
    if (count == 1 && is_near(walk, piece)) {
        read_near(walk, piece);
        return;
    }
    pl_space_gather(walk->space, piece, count, walk->buffer);
    if (count == 1) { /* the next one may be near it */
        walk->window.from = piece->from;
        walk->window.bytes = 0;
    }
}

/* Reads and scans several blocks. */
static void scan_blocks(struct pl_walk *walk, const uint32_t *number, size_t count)
{
    struct pl_space_piece piece[PL_SPACE_PIECES];
    const uint64_t *at = walk->buffer;
    for (size_t i = 0; i < count; i++) {
        const struct pl_census_block *block = &walk->census->block[number[i]];
        piece[i] = (struct pl_space_piece){block->address, block->size & ~7ull};
    }
    read_blocks(walk, piece, count);
    for (size_t i = 0; i < count; at += piece[i++].bytes / 8) {
        walk->from = number[i];
        scan(walk, piece[i].from, at, piece[i].bytes / 8);
    }
}

size_t pl_walk_scan(struct pl_walk *walk, const uint32_t *number, size_t count)
{
    uint32_t chosen[PL_SPACE_PIECES];
    size_t n = 0, taken = 0;
    uint64_t bytes = 0;
    for (; taken < count && n < PL_SPACE_PIECES; taken++) {
        uint64_t size = walk->census->block[number[taken]].size & ~7ull;
        if (bytes + size > PL_SPACE_WINDOW)
            break;
        if (size)
            chosen[n++] = number[taken];
        bytes += size;
    }
    walk->bookkeeping = false;
    if (n)
        scan_blocks(walk, chosen, n);
    if (!taken)
        scan_large(walk, number[taken++]);
    return taken;
}

void pl_walk_drain(struct pl_walk *walk)
{
    uint32_t number[PL_SPACE_PIECES];
    while (walk->count && !walk->space->stopped) {
        size_t n = 0;
        uint64_t bytes = 0;
        while (n < PL_SPACE_PIECES && walk->count && (!n || bytes < PL_SPACE_WINDOW / 2)) {
            number[n] = walk->waiting[--walk->count];
            bytes += walk->census->block[number[n++]].size;
        }
        for (size_t done = 0; done < n;)
            done += pl_walk_scan(walk, number + done, n - done);
    }
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
    walk->window = (struct pl_space_window){.space = space, .word = malloc(PL_SPACE_WORDS)};
    walk->waiting = malloc((census->count + 1ull) * sizeof *walk->waiting);
    if (census->count) {
        const struct pl_census_block *last = &census->block[census->count - 1];
        walk->low = census->block[0].address;
        walk->high = last->address + last->size;
    } else {
        walk->low = walk->high = UINT64_MAX;
    }
    if (walk->buffer && walk->waiting && walk->window.word)
        return true;
    pl_walk_end(walk);
    return false;
}

void pl_walk_end(struct pl_walk *walk)
{
    free(walk->window.word);
    free(walk->buffer);
    free(walk->waiting);
    *walk = (struct pl_walk){0};
}
