/* SPDX-License-Identifier: MIT */
/*
 * heap.h - walks through the heaps of glibc's malloc in another process, chunk by chunk.
 *
 *   chunk                              next chunk
 *   ├─ 8 bytes ─┬─ size, flags ─┬─ the block ... ─┬─ its last 8 bytes ─┬─ size, flags ─┬─ ...
 *
 * A chunk has its size in front of the block, and a flag that says whether the chunk before it is in use. So the flag
 * of a chunk is found at the next one. The last chunk of a heap is free: the top. Chunks that a thread keeps in its
 * cache look as if they were in use, but have a word in common (`word`).
 *
 * The process goes on, so what is read may be half changed. A chunk that cannot be one ends the walk.
 */
#ifndef PL_HEAP_H
#define PL_HEAP_H

#include "reach/memory/present.h"

#define PL_HEAP_SPAN (64ull << 20) /* arenas other than the main one begin at multiples of this */

struct pl_heap {
    uint64_t from, to;
    uint64_t first; /* its first chunk; what is before it are malloc's own tables */
    bool main;
};

#define PL_CHUNK_CACHED_MOST 1056u /* bytes of a chunk */

enum pl_chunk_state {
    PL_CHUNK_USED,
    PL_CHUNK_FREE,
    PL_CHUNK_TOP,
};

struct pl_chunk {
    uint64_t block; /* where the block begins */
    uint64_t bytes; /* of the chunk: the next block begins so many bytes later */
    uint64_t word;  /* the second word of the block, of one that a thread may keep in its cache */
    enum pl_chunk_state state;
};

/* Reads memory that is resident; never more than it must of what is not. */
struct pl_words {
    struct pl_space *space;
    struct pl_present *pages;
    uint64_t from;
    size_t bytes, ahead; /* in the window; to be read next time */
    uint64_t *word;      /* PL_SPACE_WORDS bytes */
};

bool pl_words_open(struct pl_words *words, struct pl_space *space, struct pl_present *pages);
void pl_words_close(struct pl_words *words);
bool pl_words_read(struct pl_words *words, uint64_t at, uint64_t *out);

/* Is there a heap at this multiple of PL_HEAP_SPAN, in a mapping that goes on up to `to`? */
bool pl_heap_find(struct pl_words *words, uint64_t at, uint64_t to, struct pl_heap *out);

/* The main heap is all of its mapping. */
bool pl_heap_find_main(struct pl_words *words, const struct pl_space_part *part, struct pl_heap *out);

/* Is there a chunk with a mapping of its own at this page? Then `bytes` are those of the mapping. */
bool pl_heap_find_mapped(struct pl_words *words, uint64_t at, uint64_t to, uint64_t *bytes);

/* Calls `meet` for each chunk. Returns up to where it came: heap->to, unless a chunk could not be understood. */
typedef void pl_chunk_met(void *context, const struct pl_chunk *chunk);
uint64_t pl_heap_walk(struct pl_words *words, const struct pl_heap *heap, pl_chunk_met *meet, void *context);

#endif
