/* SPDX-License-Identifier: MIT */
/* heap.c - see heap.h. */
#include "reach/memory/heap.h"

#include <stdlib.h>

#define FLAGS 15ull /* glibc has three; our own build of it has one more */
#define BEFORE_USED 1ull
#define MAPPED 2ull
#define ELSEWHERE 4ull    /* in an arena other than the main one */
#define LEAST 32u         /* of a chunk */
#define FRONT 16u         /* a block begins so far behind its chunk */
#define ARENA_BYTES 2200u /* struct malloc_state, from glibc 2.27 on */
#define SEARCHED 512u     /* the first chunk is at most this far from where it should be */
#define TRUSTED 4u        /* chunks that must follow each other */

/* ---- reading ---- */

bool pl_words_open(struct pl_words *words, struct pl_space *space, struct pl_present *pages)
{
    *words = (struct pl_words){.space = space, .pages = pages, .ahead = PL_PAGE, .word = malloc(PL_SPACE_WORDS)};
    return words->word;
}

void pl_words_close(struct pl_words *words)
{
    free(words->word);
    words->word = NULL;
}

/* Reads ahead as long as addresses rise step by step, but no page that is not in memory: it would come back from
 * swap. */
static void move_words(struct pl_words *words, uint64_t at)
{
    uint64_t page = at & ~(uint64_t) (PL_PAGE - 1), end = page + PL_PAGE;
    bool near = at - words->from < words->bytes + PL_PAGE;
    words->ahead = near && words->ahead < PL_SPACE_WORDS ? 2 * words->ahead : near ? PL_SPACE_WORDS : PL_PAGE;
    while (end - page < words->ahead && pl_present_state(words->pages, end) == PL_PAGE_RESIDENT)
        end += PL_PAGE;
    words->from = page;
    words->bytes = 0;
    if (pl_present_state(words->pages, page) != PL_PAGE_UNTOUCHED)
        words->bytes = pl_space_read(words->space, page, words->word, end - page) & ~(size_t) 7;
}

bool pl_words_read(struct pl_words *words, uint64_t at, uint64_t *out)
{
    if (at - words->from >= words->bytes)
        move_words(words, at);
    if (at - words->from >= words->bytes)
        return false;
    *out = words->word[(at - words->from) / 8];
    return true;
}

/* ---- heaps ---- */

/* The size of the chunk at `at`, in a heap that ends at `to`; 0: there is none. */
static uint64_t chunk_at(struct pl_words *words, const struct pl_heap *heap, uint64_t at, uint64_t *flags)
{
    uint64_t word;
    if (at + FRONT > heap->to || !pl_words_read(words, at + 8, &word))
        return 0;
    uint64_t bytes = word & ~FLAGS;
    *flags = word & FLAGS;
    bool here =
        !(word & MAPPED) && !(word & ELSEWHERE && heap->main); /* free chunks of other arenas may have neither */
    return here && bytes >= LEAST && bytes <= heap->to - at ? bytes : 0;
}

static bool is_chain(struct pl_words *words, const struct pl_heap *heap, uint64_t at)
{
    uint64_t flags, bytes = chunk_at(words, heap, at, &flags);
    if (!bytes || !(flags & BEFORE_USED))
        return false;
    for (unsigned i = 0; i < TRUSTED && at + bytes < heap->to && bytes; i++) {
        at += bytes;
        bytes = chunk_at(words, heap, at, &flags);
    }
    return bytes;
}

static bool find_first(struct pl_words *words, struct pl_heap *heap, uint64_t at)
{
    at = (at + 15) & ~15ull;
    for (uint64_t more = 0; more < SEARCHED; more += 16)
        if (is_chain(words, heap, at + more)) {
            heap->first = at + more;
            return true;
        }
    return false;
}

/* A heap begins with the address of its arena, which is behind that head in the arena's first heap, the address of the
 * arena's heap before it, and its size. */
bool pl_heap_find(struct pl_words *words, uint64_t at, uint64_t to, struct pl_heap *out)
{
    uint64_t arena, before, bytes;
    if (!pl_words_read(words, at, &arena) || !pl_words_read(words, at + 8, &before) ||
        !pl_words_read(words, at + 16, &bytes))
        return false;
    uint64_t head = arena % PL_HEAP_SPAN;
    bool first = arena - head == at;
    if (head < 32 || head > 256 || head % 8 || before % PL_HEAP_SPAN || bytes % PL_PAGE || bytes > to - at ||
        bytes > PL_HEAP_SPAN || bytes < PL_PAGE || first != !before)
        return false;
    *out = (struct pl_heap){.from = at, .to = at + bytes};
    return find_first(words, out, at + head + (first ? ARENA_BYTES : 0));
}

bool pl_heap_find_main(struct pl_words *words, const struct pl_space_part *part, struct pl_heap *out)
{
    *out = (struct pl_heap){.from = part->from, .to = part->to, .main = true};
    return find_first(words, out, part->from);
}

bool pl_heap_find_mapped(struct pl_words *words, uint64_t at, uint64_t to, uint64_t *bytes)
{
    uint64_t front, word;
    if (!pl_words_read(words, at, &front) || !pl_words_read(words, at + 8, &word))
        return false;
    *bytes = word & ~FLAGS;
    return front == 0 && (word & 7) == MAPPED && *bytes && *bytes % PL_PAGE == 0 && *bytes <= to - at;
}

/* ---- the walk ---- */

uint64_t pl_heap_walk(struct pl_words *words, const struct pl_heap *heap, pl_chunk_met *meet, void *context)
{
    uint64_t at = heap->first, flags, bytes = chunk_at(words, heap, at, &flags);
    while (bytes) {
        uint64_t next = at + bytes, more = 0;
        struct pl_chunk chunk = {.block = at + FRONT, .bytes = bytes, .state = PL_CHUNK_TOP};
        if (bytes <= PL_CHUNK_CACHED_MOST)
            pl_words_read(words, at + FRONT + 8, &chunk.word);
        if (next < heap->to) {
            more = chunk_at(words, heap, next, &flags);
            /* An old heap ends with two chunks that are too small to be any. */
            bool fence = !more && heap->to - next <= 64;
            if (!more && !fence)
                return at;
            chunk.state = fence || flags & BEFORE_USED ? PL_CHUNK_USED : PL_CHUNK_FREE;
            if (fence)
                next = heap->to;
        }
        meet(context, &chunk);
        at = next;
        bytes = more;
    }
    return at;
}
