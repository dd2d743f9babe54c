/* SPDX-License-Identifier: MIT */
/*
 * allocator.h - which allocator a program will use, as far as its loader knows beforehand.
 */
#ifndef PL_ALLOCATOR_H
#define PL_ALLOCATOR_H

#include <stdbool.h>

/*
 * Does the library that will serve malloc also define operator new? Then C++ allocations bypass malloc, and the flavour
 * of the runtime that hooks operator new has to be preloaded.
 */
bool pl_allocator_brings_new(const char *loader, const char *binary);

#endif
