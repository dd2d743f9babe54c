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
#include "exact.h"
#include "hot.h"
#include "visit.h"
#include "next.h"
#include "text.h"

/* Before relocation there is no thread-local storage, no next definition and no errno: only the pool. */
#define RETURN_BEFORE_RELOCATION(value)                                                                                \
    do {                                                                                                               \
        if (unlikely(!pl_is_relocated()))                                                                              \
            return (value);                                                                                            \
    } while (0)

#define OUT_OF_LINE __attribute__((noinline))

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
    OUT_OF_LINE void *pl_cold_##name parameters                                                                        \
    {                                                                                                                  \
        RETURN_BEFORE_RELOCATION(pl_bootstrap_alloc(bytes, alignment));                                                \
        struct pl_start start;                                                                                         \
        PL_START_HERE(&start);                                                                                         \
        double weight = pl_visit_due(function, bytes);                                                                 \
        void *block = pl_next.name arguments;                                                                          \
        pl_visit_allocated(function, bytes, block, weight, &start);                                                    \
        return block;                                                                                                  \
    }
ALLOCATORS(ALLOCATE)

OUT_OF_LINE int pl_cold_posix_memalign(void **out, size_t alignment, size_t n)
{
    RETURN_BEFORE_RELOCATION((*out = pl_bootstrap_alloc(n, alignment)) ? 0 : ENOMEM);
    struct pl_start start;
    PL_START_HERE(&start);
    double weight = pl_visit_due(PL_FN_ALIGNED, n);
    int error = pl_next.posix_memalign(out, alignment, n);
    pl_visit_allocated(PL_FN_ALIGNED, n, error ? NULL : *out, weight, &start);
    return error;
}

/* ---- freeing ---- */

bool pl_cold_forget(void *p)
{
    struct pl_known known;
    if (pl_filter_excludes(p))
        return true;
    if (pl_bootstrap_owns(p))
        return false;
    if (pl_cold_take(p, &known))
        pl_cold_freed(p, &known);
    else
        pl_cold_unknown(p);
    return true;
}

/* True when the real free is to follow. Exact mode's blocks first: where it is on, nearly every block is one. */
INLINE bool forget(void *p)
{
    return likely(pl_exact_free(p)) || pl_cold_forget(p);
}

OUT_OF_LINE void pl_cold_free(void *p)
{
    if (forget(p))
        pl_next.free(p);
}

OUT_OF_LINE void pl_cold_free_sized(void *p, size_t n)
{
    if (forget(p))
        pl_next.free_sized(p, n);
}

OUT_OF_LINE void pl_cold_free_aligned_sized(void *p, size_t alignment, size_t n)
{
    if (forget(p))
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

/* What the caller had asked for, as far as it is known; otherwise what it got. 0: there is nobody to ask. */
static size_t size_before(void *p, const struct pl_known *known)
{
    size_t size;
    if (pl_known_size(known, &size))
        return size;
    return pl_next.malloc_usable_size ? pl_next.malloc_usable_size(p) : 0;
}

/* The real call, with what is known of the block taken out of the tables before it and booked after it. `before`: what
 * it asked for then. realloc(p, 0) frees and returns NULL in glibc: that is no failure, and no allocation either. */
INLINE void *move(void *p, size_t n, size_t *before)
{
    struct pl_known known;
    bool taken = p && pl_cold_take(p, &known);
    *before = p && *before ? size_before(p, &known) : 0;
    void *block = pl_next.realloc(p, n);
    if (taken && (block || !n))
        pl_cold_freed(NULL, &known); /* not a temporary: what it held lives on */
    else if (taken)
        pl_cold_restore(p, &known);
    return block;
}

OUT_OF_LINE void *pl_cold_realloc(void *p, size_t n, bool due)
{
    RETURN_BEFORE_RELOCATION(copy_from_pool(p, n, pl_bootstrap_alloc(n, 16)));
    double weight = due ? pl_visit_due(PL_FN_REALLOC, n) : 0;
    bool in_pool = p && pl_bootstrap_owns(p);
    size_t before = weight != 0 && !in_pool;
    void *block = in_pool ? copy_from_pool(p, n, pl_next.malloc(n)) : move(p, n, &before);
    if (due) {
        struct pl_start start;
        PL_START_HERE(&start);
        pl_visit_allocated(PL_FN_REALLOC, n, block, weight, &start);
    } else if (!block) {
        pl_cold_uncount(PL_FN_REALLOC, n);
    }
    if (block && p && weight != 0)
        pl_cold_moved(block, before, block != p);
    return block;
}
