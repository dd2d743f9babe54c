/* SPDX-License-Identifier: MIT */
/*
 * hooks.c - the allocation functions as the program sees them.
 *
 * The whole hot path of the profiler is in this file. Each hook makes one test, which nearly always fails, and jumps to
 * the next definition: malloc in 8 instructions, free in 6, the jump included (`make hot` shows them, a test checks
 * their number). No atomics, no system calls; malloc touches one line of thread-local storage, free one byte.
 *
 * A call is counted when it is made, because the hot path does not see the result. A failed call is uncounted only if
 * it took the cold path.
 */
#include <errno.h>
#include <stdlib.h>

#include "preload/hooks.h"
#include "preload/next.h"

/* Declared again here, with EXPORT and HOT. */
EXPORT HOT void *malloc(size_t n);
EXPORT HOT void free(void *p);
EXPORT HOT void *calloc(size_t n, size_t m);
EXPORT HOT void *realloc(void *p, size_t n);
EXPORT HOT void *reallocarray(void *p, size_t n, size_t m);
EXPORT HOT int posix_memalign(void **out, size_t alignment, size_t n);
EXPORT HOT void *aligned_alloc(size_t alignment, size_t n);
EXPORT HOT void *memalign(size_t alignment, size_t n);
EXPORT HOT void *valloc(size_t n);
EXPORT HOT void *pvalloc(size_t n);
EXPORT HOT void free_sized(void *p, size_t n);
EXPORT HOT void free_aligned_sized(void *p, size_t alignment, size_t n);

void *malloc(size_t n)
{
    if (unlikely(HOT_CHARGE(PL_FN_MALLOC, n)))
        return pl_slow_malloc(n);
    return pl_next.malloc(n);
}

void free(void *p)
{
    if (unlikely(hot_maybe_sampled(p)))
        pl_slow_free(p);
    else
        pl_next.free(p);
}

void *calloc(size_t n, size_t m)
{
    size_t bytes;
    if (unlikely(__builtin_mul_overflow(n, m, &bytes)))
        return pl_next.calloc(n, m); /* fails */
    if (unlikely(HOT_CHARGE(PL_FN_CALLOC, bytes)))
        return pl_slow_calloc(n, m);
    return pl_next.calloc(n, m);
}

void *realloc(void *p, size_t n)
{
    if (unlikely(HOT_CHARGE(PL_FN_REALLOC, n)))
        return pl_slow_realloc(p, n, true);
    if (unlikely(!n || hot_maybe_sampled(p)))
        return pl_slow_realloc(p, n, false);
    return pl_next.realloc(p, n);
}

/* libc's reallocarray calls realloc, which is ours: calling our realloc directly avoids counting twice. */
void *reallocarray(void *p, size_t n, size_t m)
{
    size_t bytes;
    if (unlikely(__builtin_mul_overflow(n, m, &bytes)))
        return pl_next.reallocarray(p, n, m); /* fails */
    return realloc(p, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t n)
{
    if (unlikely(HOT_CHARGE(PL_FN_ALIGNED, n)))
        return pl_slow_posix_memalign(out, alignment, n);
    return pl_next.posix_memalign(out, alignment, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    if (unlikely(HOT_CHARGE(PL_FN_ALIGNED, n)))
        return pl_slow_aligned_alloc(alignment, n);
    return pl_next.aligned_alloc(alignment, n);
}

void *memalign(size_t alignment, size_t n)
{
    if (unlikely(HOT_CHARGE(PL_FN_ALIGNED, n)))
        return pl_slow_memalign(alignment, n);
    return pl_next.memalign(alignment, n);
}

void *valloc(size_t n)
{
    if (unlikely(HOT_CHARGE(PL_FN_ALIGNED, n)))
        return pl_slow_valloc(n);
    return pl_next.valloc(n);
}

void *pvalloc(size_t n)
{
    if (unlikely(HOT_CHARGE(PL_FN_ALIGNED, n)))
        return pl_slow_pvalloc(n);
    return pl_next.pvalloc(n);
}

void free_sized(void *p, size_t n)
{
    if (unlikely(hot_maybe_sampled(p)))
        pl_slow_free_sized(p, n);
    else
        pl_next.free_sized(p, n);
}

void free_aligned_sized(void *p, size_t alignment, size_t n)
{
    if (unlikely(hot_maybe_sampled(p)))
        pl_slow_free_aligned_sized(p, alignment, n);
    else
        pl_next.free_aligned_sized(p, alignment, n);
}
