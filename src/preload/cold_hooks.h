/* SPDX-License-Identifier: MIT */
/*
 * cold_hooks.h - where each hook goes when the hot path has found that there may be something to do.
 *
 * They are reached by a jump from the hook's first screen, with its arguments and the program's return address in
 * place, and each finds its caller in its own frame.
 */
#ifndef PL_COLD_HOOKS_H
#define PL_COLD_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

/* The block may be sampled, and is about to be freed: forgets it. True when the real free is to follow. */
bool pl_cold_forget(void *p);

void *pl_cold_malloc(size_t n);
void pl_cold_free(void *p);
void pl_cold_free_sized(void *p, size_t n);
void pl_cold_free_aligned_sized(void *p, size_t alignment, size_t n);
void *pl_cold_calloc(size_t n, size_t m);
void *pl_cold_realloc(void *p, size_t n, bool due);
int pl_cold_posix_memalign(void **out, size_t alignment, size_t n);
void *pl_cold_aligned_alloc(size_t alignment, size_t n);
void *pl_cold_memalign(size_t alignment, size_t n);
void *pl_cold_valloc(size_t n);
void *pl_cold_pvalloc(size_t n);

#endif
