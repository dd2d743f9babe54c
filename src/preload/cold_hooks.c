/* SPDX-License-Identifier: MIT */
/*
 * cold_hooks.c - see cold_hooks.h.
 *
 * The order is the same everywhere. An allocation is recorded after the real call and before its address escapes. A
 * record is removed before the real free, because another thread may be given the address at once, and put back if the
 * real call turns out to have failed.
 *
 * Built with frame pointers: PL_START_HERE reads the caller from the frame.
 */
#include "cold_hooks.h"

#include <errno.h>

#include "bootstrap.h"
#include "cold.h"
#include "compiler.h"
#include "hot.h"
#include "next.h"
#include "text.h"

/* Before relocation there is no thread-local storage, no next definition and no errno: only the pool. */
#define RETURN_BEFORE_RELOCATION(value)                                                                                \
    do {                                                                                                               \
        if (unlikely(!pl_is_relocated()))                                                                              \
            return (value);                                                                                            \
    } while (0)

/* ---- allocating ---- */

/* X(name, parameters, arguments, counted as, bytes asked for, alignment of what comes from the pool) */
#define ALLOCATORS(X)                                                                                                  \
    X(malloc, (size_t n), (n), PL_FN_MALLOC, n, 16)                                                                    \
    X(calloc, (size_t n, size_t m), (n, m), PL_FN_CALLOC, (n * m), 16)                                                 \
    X(aligned_alloc, (size_t alignment, size_t n), (alignment, n), PL_FN_ALIGNED, n, alignment)                        \
    X(memalign, (size_t alignment, size_t n), (alignment, n), PL_FN_ALIGNED, n, alignment)                             \
    X(valloc, (size_t n), (n), PL_FN_ALIGNED, n, 4096)                                                                 \
    X(pvalloc, (size_t n), (n), PL_FN_ALIGNED, n, 4096)

#define ALLOCATE(name, parameters, arguments, function, bytes, alignment)                                              \
    COLD void *pl_cold_##name parameters                                                                               \
    {                                                                                                                  \
        RETURN_BEFORE_RELOCATION(pl_bootstrap_alloc(bytes, alignment));                                                \
        struct pl_start start;                                                                                         \
        PL_START_HERE(&start);                                                                                         \
        double weight = pl_cold_due(function, bytes);                                                                  \
        void *block = pl_next.name arguments;                                                                          \
        pl_cold_allocated(function, bytes, block, weight, &start);                                                     \
        return block;                                                                                                  \
    }
ALLOCATORS(ALLOCATE)

COLD int pl_cold_posix_memalign(void **out, size_t alignment, size_t n)
{
    RETURN_BEFORE_RELOCATION((*out = pl_bootstrap_alloc(n, alignment)) ? 0 : ENOMEM);
    struct pl_start start;
    PL_START_HERE(&start);
    double weight = pl_cold_due(PL_FN_ALIGNED, n);
    int error = pl_next.posix_memalign(out, alignment, n);
    pl_cold_allocated(PL_FN_ALIGNED, n, error ? NULL : *out, weight, &start);
    return error;
}

/* ---- freeing ---- */

/* True when the real free is to follow. */
bool pl_cold_forget(void *p)
{
    struct pl_record record;
    if (likely(pl_filter_excludes(p)))
        return true;
    if (pl_bootstrap_owns(p))
        return false;
    if (pl_cold_take(p, &record))
        pl_cold_freed(&record);
    return true;
}

COLD void pl_cold_free(void *p)
{
    if (pl_cold_forget(p))
        pl_next.free(p);
}

COLD void pl_cold_free_sized(void *p, size_t n)
{
    if (pl_cold_forget(p))
        pl_next.free_sized(p, n);
}

COLD void pl_cold_free_aligned_sized(void *p, size_t alignment, size_t n)
{
    if (pl_cold_forget(p))
        pl_next.free_aligned_sized(p, alignment, n);
}

/* ---- moving ---- */

static void *copy_from_pool(void *p, size_t n, void *block)
{
    size_t bytes = p ? pl_bootstrap_size(p) : 0;
    if (block)
        pl_copy(block, p, bytes < n ? bytes : n);
    return block;
}

/* realloc(p, 0) frees and returns NULL in glibc: that is no failure, and no allocation either. */
COLD void *pl_cold_realloc(void *p, size_t n, bool sampled)
{
    RETURN_BEFORE_RELOCATION(copy_from_pool(p, n, pl_bootstrap_alloc(n, 16)));
    struct pl_start start;
    struct pl_record record;
    PL_START_HERE(&start);
    double weight = sampled ? pl_cold_due(PL_FN_REALLOC, n) : 0;
    bool in_pool = p && pl_bootstrap_owns(p);
    bool taken = p && !in_pool && pl_cold_take(p, &record);
    void *block = in_pool ? copy_from_pool(p, n, pl_next.malloc(n)) : pl_next.realloc(p, n);
    bool gone = block || (p && !n);
    if (taken && gone)
        pl_cold_freed(&record);
    else if (taken)
        pl_cold_restore(p, &record);
    if (sampled)
        pl_cold_allocated(PL_FN_REALLOC, n, block, weight, &start);
    else if (!block)
        pl_cold_uncount(PL_FN_REALLOC, n);
    return block;
}
