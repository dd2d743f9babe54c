/* SPDX-License-Identifier: MIT */
/*
 * allocator.h - which allocator a program will use, as far as its loader knows beforehand.
 */
#ifndef PL_ALLOCATOR_H
#define PL_ALLOCATOR_H

#include <stdbool.h>

struct pl_allocator {
    char *library; /* that will serve malloc; NULL: it could not be found out */
    bool new;      /* it defines operator new, too: C++ allocations bypass malloc */
};

/* What the loader would load, and in which order, depends on the environment. The caller frees the library. */
struct pl_allocator pl_allocator_find(const char *loader, const char *binary);

#endif
