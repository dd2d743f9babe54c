/* SPDX-License-Identifier: MIT */
/*
 * bootstrap.h - memory for those who allocate before there is an allocator to forward to.
 *
 * dlsym() may call calloc() while we ask it for calloc; an IFUNC resolver may call malloc() before the loader has
 * relocated us. They are served from a fixed pool that is never given back. Each block's place in the free filter is
 * stuck at "maybe ours", so free() finds its way here without a test of its own.
 */
#ifndef PL_BOOTSTRAP_H
#define PL_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed memory, or NULL when the pool is used up. `alignment` is a power of two. */
void *pl_bootstrap_alloc(size_t bytes, size_t alignment);
bool pl_bootstrap_owns(const void *block);
size_t pl_bootstrap_size(const void *block);

/* Fork wipes the filter, and a child may free what its parent got from here: the pool's part of it stays. */
void pl_bootstrap_keep_on_fork(void);

#endif
