/* SPDX-License-Identifier: MIT */
/*
 * allocator.h - finds the allocator that a program will use, as far as its loader knows beforehand.
 */
#ifndef PL_ALLOCATOR_H
#define PL_ALLOCATOR_H

#include <stdbool.h>

struct pl_allocator {
    char *library; /* the library that will provide malloc; NULL: libc, or unknown */
    bool new;      /* it also defines operator new: C++ allocations bypass malloc */
};

/* The result depends on the environment: LD_PRELOAD and LD_LIBRARY_PATH count. The caller frees the library. */
struct pl_allocator pl_allocator_find(const char *loader, const char *binary);

#endif
