/* SPDX-License-Identifier: MIT */
/*
 * arena.h - memory that lives as long as the profile it belongs to. Running out of memory ends the program: this is the
 * reader, not the runtime.
 */
#ifndef PL_ARENA_H
#define PL_ARENA_H

#include <stddef.h>

struct pl_arena;
struct pl_arena *pl_arena_new(void);
void pl_arena_free(struct pl_arena *arena);
void *pl_arena_alloc(struct pl_arena *arena, size_t bytes);                        /* zeroed, 16-byte aligned */
const char *pl_arena_text(struct pl_arena *arena, const char *text, size_t bytes); /* NUL-terminated copy */

#endif
