/* SPDX-License-Identifier: MIT */
/*
 * slow.c - the slow half of each hook: where the hook jumps if there may be something to record.
 *
 * It makes the real call. Before and after it, it calls the functions of core/visit.h, which ask exact mode
 * (core/exact.c) and then the cold path (core/cold.c). ARCHITECTURE.md lists these words.
 *
 * Built with frame pointers: PL_START_HERE reads the caller from the frame.
 */
#include "preload/hooks.h"

#include <errno.h>

#include "core/arch.h"
#include "core/compiler.h"
#include "core/memory.h"
#include "core/visit.h"
#include "preload/next.h"

#define ENTRY PL_ARCH_ENTRY OUT_OF_LINE

/* Before relocation there is no thread-local storage, no next definition and no errno: only the pool. */
#define RETURN_BEFORE_RELOCATION(value)                                                                                \
    do {                                                                                                               \
        if (unlikely(!pl_arch_is_relocated()))                                                                         \
            return (value);                                                                                            \
    } while (0)

/* ---- allocating ---- */

/* X(name, parameters, arguments, counted as, bytes requested, alignment of a block from the pool) */
#define ALLOCATORS(X)                                                                                                  \
    X(malloc, (size_t n), (n), PL_FN_MALLOC, n, 16)                                                                    \
    X(calloc, (size_t n, size_t m), (n, m), PL_FN_CALLOC, (n * m), 16)                                                 \
    X(aligned_alloc, (size_t alignment, size_t n), (alignment, n), PL_FN_ALIGNED, n, alignment)                        \
    X(memalign, (size_t alignment, size_t n), (alignment, n), PL_FN_ALIGNED, n, alignment)                             \
    X(valloc, (size_t n), (n), PL_FN_ALIGNED, n, PL_ARCH_PAGE_MOST)                                                    \
    X(pvalloc, (size_t n), (n), PL_FN_ALIGNED, n, PL_ARCH_PAGE_MOST)

#define ALLOCATE(name, parameters, arguments, function, bytes, alignment)                                              \
    ENTRY void *pl_slow_##name parameters                                                                              \
    {                                                                                                                  \
        RETURN_BEFORE_RELOCATION(pl_next_pool_alloc(bytes, alignment));                                                \
        struct pl_start start;                                                                                         \
        PL_START_HERE(&start);                                                                                         \
        struct pl_cold_plan plan = pl_visit_due(function, bytes);                                                      \
        void *block = pl_next.name arguments;                                                                          \
        pl_visit_allocated(function, bytes, block, plan, &start);                                                      \
        if ((function) == PL_FN_MALLOC && unlikely(!pl_start_awaits_exit))                                             \
            pl_start_await_exit();                                                                                     \
        return block;                                                                                                  \
    }
ALLOCATORS(ALLOCATE)

ENTRY int pl_slow_posix_memalign(void **out, size_t alignment, size_t n)
{
    RETURN_BEFORE_RELOCATION((*out = pl_next_pool_alloc(n, alignment)) ? 0 : ENOMEM);
    struct pl_start start;
    PL_START_HERE(&start);
    struct pl_cold_plan plan = pl_visit_due(PL_FN_ALIGNED, n);
    int error = pl_next.posix_memalign(out, alignment, n);
    pl_visit_allocated(PL_FN_ALIGNED, n, error ? NULL : *out, plan, &start);
    return error;
}

/* ---- freeing ---- */

/* Exact mode knows nearly every block, and in sampled mode most blocks here only lie near a sample. So these two cases
 * are told apart before there is a frame. */
#define FREE(name, parameters, arguments)                                                                              \
    ENTRY static void name##_counted parameters                                                                        \
    {                                                                                                                  \
        pl_exact_free(p);                                                                                              \
        pl_next.name arguments;                                                                                        \
    }                                                                                                                  \
                                                                                                                       \
    ENTRY static void name##_recorded parameters                                                                       \
    {                                                                                                                  \
        if (unlikely(pl_next_pool_owns(p))) /* never freed. Its filter byte says that anything may be there */         \
            return;                                                                                                    \
        pl_visit_freeing(p);                                                                                           \
        pl_next.name arguments;                                                                                        \
    }                                                                                                                  \
                                                                                                                       \
    void pl_slow_##name parameters                                                                                     \
    {                                                                                                                  \
        if (likely(pl_visit_is_counted(p)))                                                                            \
            name##_counted arguments;                                                                                  \
        else if (pl_visit_excludes(p))                                                                                 \
            pl_next.name arguments;                                                                                    \
        else                                                                                                           \
            name##_recorded arguments;                                                                                 \
    }
FREE(free, (void *p), (p))
FREE(free_sized, (void *p, size_t n), (p, n))
FREE(free_aligned_sized, (void *p, size_t alignment, size_t n), (p, alignment, n))

/* ---- moving ---- */

static void *copy_from_pool(void *p, size_t n, void *block)
{
    size_t bytes = p ? pl_next_pool_size(p) : 0;
    if (block)
        pl_memory_copy(block, p, bytes < n ? bytes : n);
    return block;
}

/* The requested size of a block, if it is known; otherwise its usable size; 0 if the allocator cannot tell. */
static size_t size_before(void *p, bool taken, const struct pl_cold_known *known)
{
    if (taken)
        return pl_cold_known_size(known);
    return pl_next.malloc_usable_size ? pl_next.malloc_usable_size(p) : 0;
}

/* Calls the real realloc, and books what becomes of the old block. If *before is not 0 it is set to the old block's
 * size. */
INLINE void *move(void *p, size_t n, size_t *before)
{
    struct pl_cold_known known;
    bool taken = p && pl_cold_take(p, &known);
    *before = p && *before ? size_before(p, taken, &known) : 0;
    void *block = pl_next.realloc(p, n);
    if (taken)
        pl_visit_realloc_old(p, &known, pl_visit_realloc_failed(block, n));
    return block;
}

ENTRY void *pl_slow_realloc(void *p, size_t n, bool due)
{
    RETURN_BEFORE_RELOCATION(copy_from_pool(p, n, pl_next_pool_alloc(n, 16)));
    struct pl_cold_plan plan = {PL_COLD_SKIPPED, 0};
    if (due)
        plan = pl_visit_due(PL_FN_REALLOC, n);
    bool in_pool = p && pl_next_pool_owns(p);
    size_t before = plan.how != PL_COLD_SKIPPED && !in_pool;
    void *block = in_pool ? copy_from_pool(p, n, pl_next.malloc(n)) : move(p, n, &before);
    struct pl_start start;
    PL_START_HERE(&start);
    pl_visit_realloc_new(p, before, block, n, due, plan, &start);
    return block;
}
