/* SPDX-License-Identifier: MIT */
/* bootstrap.c - see bootstrap.h. */
#include "bootstrap.h"

#include <stdint.h>

#include "compiler.h"
#include "filter.h"
#include "sys.h"

#define POOL_BYTES (64u << 10)
#ifndef MADV_KEEPONFORK
#define MADV_KEEPONFORK 19
#endif

#define HEAD 16u /* the size of a block stands before it */

static uint8_t pool[POOL_BYTES] PAGE_ALIGNED;
static size_t used;

void *pl_bootstrap_alloc(size_t bytes, size_t alignment)
{
    if (alignment < HEAD)
        alignment = HEAD;
    if (bytes > POOL_BYTES || alignment > 4096)
        return NULL;
    size_t old = load_relaxed(&used), at;
    do {
        at = (old + HEAD + alignment - 1) & ~(alignment - 1);
        if (at + bytes > POOL_BYTES)
            return NULL;
    } while (!__atomic_compare_exchange_n(&used, &old, at + bytes, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    *(size_t *) (void *) (pool + at - HEAD) = bytes;
    pl_filter_stick(pool + at);
    return pool + at;
}

bool pl_bootstrap_owns(const void *block)
{
    return (uintptr_t) block - (uintptr_t) pool < POOL_BYTES;
}

/* In whole pages, with marks of the parent's blocks in it: the child's cold path will not find them, and go on. */
void pl_bootstrap_keep_on_fork(void)
{
    const uintptr_t page = 4096;
    uintptr_t first = (uintptr_t) pl_filter_byte(pool) & ~(page - 1);
    uintptr_t last = (uintptr_t) pl_filter_byte(pool + POOL_BYTES - 1) & ~(page - 1);
    if (load_relaxed(&used)) {
        pl_sys_madvise((void *) first, page, MADV_KEEPONFORK);
        pl_sys_madvise((void *) last, page, MADV_KEEPONFORK);
    }
}

size_t pl_bootstrap_size(const void *block)
{
    return *(const size_t *) (const void *) ((const uint8_t *) block - HEAD);
}
