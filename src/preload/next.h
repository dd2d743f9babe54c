/* SPDX-License-Identifier: MIT */
/*
 * next.h - the next definitions of the functions that we hook: libc's, or those of another allocator.
 *
 * Each pointer initially points to a function that looks up all of them and then forwards the call. So the hot path
 * need not test whether they are set.
 *
 * Some calls come before there is a definition to forward to: dlsym() may call calloc() while we ask it for calloc; an
 * IFUNC resolver may call malloc() before the loader has relocated us. They get memory from a fixed pool, which is
 * never freed. The filter byte of each of its blocks is set to PL_FILTER_STUCK, so free() takes the cold path, which
 * recognises the pool: the hot path needs no test for it.
 */
#ifndef PL_NEXT_H
#define PL_NEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/compiler.h"

/* Beside it, the same for an allocator that is linked into the program: entries.c. */
#ifdef PL_BESIDE
#define pl_next pl_beside_next
#endif

struct pl_next {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void (*free_sized)(void *, size_t);
    void (*free_aligned_sized)(void *, size_t, size_t);
    size_t (*malloc_usable_size)(void *); /* NULL: not known, or not yet */
};
extern HIDDEN struct pl_next pl_next;

/* Looks all of them up. Called by the constructor, while no other thread holds the loader's lock and waits for us. */
void pl_next_start(void);

/* True if the program's calls of malloc come to us. If not, *module is the path of the module that they go to. Calls
 * malloc. */
bool pl_next_is_asked(const char **module);

/* If the C library's functions call one another through our hooks: puts functions in their place that do not. */
void pl_next_unnest(void);

/* Looks up the next definition of a function; NULL if there is none. */
void *pl_next_find(const char *name);

/* Between these two, allocations of this thread are neither counted nor sampled: calls that the program did not make.
 * `before` keeps the thread's counters. */
struct pl_tls;
void pl_next_hide(struct pl_tls *before);
void pl_next_show(const struct pl_tls *before);

/* ---- the pool ---- */

/* Zeroed memory, or NULL if the pool is used up. `alignment` is a power of two. */
void *pl_next_pool_alloc(size_t bytes, size_t alignment);
size_t pl_next_pool_size(const void *block);

#define PL_NEXT_POOL_BYTES (64u << 10)
extern HIDDEN uint8_t pl_next_pool[PL_NEXT_POOL_BYTES];

INLINE bool pl_next_pool_owns(const void *block)
{
    return (uintptr_t) block - (uintptr_t) pl_next_pool < PL_NEXT_POOL_BYTES;
}

/* Fork wipes the filter, but a child may free blocks of the pool: makes fork keep the filter's pages for the pool. */
void pl_next_pool_keep_on_fork(void);

#endif
