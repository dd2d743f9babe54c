/* SPDX-License-Identifier: MIT */
/*
 * arena.c - memory that is freed all at once.
 *
 * Small pieces are cut from blocks; a large piece gets a block of its own. Blocks come from calloc, which leaves large
 * ones untouched until they are used, so a generous table costs only what is written to it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/arena.h"

#define BLOCK_BYTES (64u << 10)
#define ALIGNMENT 16u

struct block {
    struct block *next;
    size_t reserved; /* keeps what follows 16-byte aligned */
};
_Static_assert(sizeof(struct block) % ALIGNMENT == 0, "pieces start aligned");

struct pl_arena {
    struct block *blocks;
    char *free;
    size_t free_bytes;
};

static void *zeroed_or_die(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory) {
        fprintf(stderr, "plimsoll: out of memory (%zu bytes wanted)\n", bytes);
        exit(1);
    }
    return memory;
}

struct pl_arena *pl_arena_new(void)
{
    return zeroed_or_die(sizeof(struct pl_arena));
}

void pl_arena_free(struct pl_arena *arena)
{
    if (!arena)
        return;
    for (struct block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(arena);
}

static void *add_block(struct pl_arena *arena, size_t bytes)
{
    struct block *block = zeroed_or_die(bytes > SIZE_MAX - sizeof *block ? SIZE_MAX : sizeof *block + bytes);
    block->next = arena->blocks;
    arena->blocks = block;
    return block + 1;
}

/* A piece of 0 bytes still needs an address. */
static size_t round_up(size_t bytes)
{
    if (bytes > SIZE_MAX - ALIGNMENT)
        return SIZE_MAX;
    return bytes == 0 ? ALIGNMENT : (bytes + ALIGNMENT - 1) & ~(size_t) (ALIGNMENT - 1);
}

void *pl_arena_alloc(struct pl_arena *arena, size_t bytes)
{
    size_t rounded = round_up(bytes);
    if (rounded > BLOCK_BYTES / 4)
        return add_block(arena, rounded);
    if (rounded > arena->free_bytes) {
        arena->free = add_block(arena, BLOCK_BYTES);
        arena->free_bytes = BLOCK_BYTES;
    }
    void *piece = arena->free;
    arena->free += rounded;
    arena->free_bytes -= rounded;
    return piece;
}

const char *pl_arena_text(struct pl_arena *arena, const char *text, size_t bytes)
{
    if (bytes == 0)
        return "";
    char *copy = pl_arena_alloc(arena, bytes + 1);
    memcpy(copy, text, bytes);
    return copy;
}
