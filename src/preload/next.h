/* SPDX-License-Identifier: MIT */
/*
 * next.h - the definitions behind ours: libc's, or those of whichever allocator is in charge.
 *
 * Each pointer starts at a function that looks all of them up and then does what it was asked to. So nothing on the hot
 * path has to ask whether they are there.
 */
#ifndef PL_NEXT_H
#define PL_NEXT_H

#include <stddef.h>

#include "compiler.h"

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

/* Looks them up now, while no thread waits for another with the loader's lock in hand. For the constructor. */
void pl_next_start(void);

/* The next definition of any other function, looked up when first wanted; NULL when there is none. */
void *pl_next_find(const char *name);

#endif
