/* SPDX-License-Identifier: MIT */
/*
 * entries.c - see entries.h. One set of hooks for each family of allocation functions.
 *
 * malloc takes two instructions more than the hook of hooks.c, for the test of `inside`; free takes the same six. What
 * allocators implement with the help of others (realloc, calloc, the aligned functions) is always called with `inside`
 * set.
 */
#include "preload/entries.h"

#include <stddef.h>

#include "core/compiler.h"
#include "core/visit.h"
#include "preload/hooks.h"
#include "preload/next.h"

__thread struct pl_entry_tls pl_entry_tls INITIAL_EXEC;

#define FAMILIES 2 /* PL_DESK_MALLOC, PL_DESK_LINKED */
static struct pl_next real[FAMILIES];

/* ---- inside ---- */

static struct pl_entry_tls enter(enum pl_entry_inside inside, uint32_t family)
{
    struct pl_entry_tls before = pl_entry_tls;
    pl_entry_tls = (struct pl_entry_tls){(uint16_t) inside, (uint16_t) family, (uint32_t) pl_arch_stack_pointer()};
    signal_fence();
    return before;
}

static void leave(const struct pl_entry_tls *before)
{
    signal_fence();
    pl_entry_tls = *before;
}

#define INSIDE(inside, family)                                                                                         \
    __attribute__((cleanup(leave), unused)) struct pl_entry_tls before_ = enter(inside, family)

void pl_entries_thrown(uintptr_t sp)
{
    if (pl_entry_tls.inside && (int32_t) ((uint32_t) sp - pl_entry_tls.sp) > 0)
        pl_entry_tls = (struct pl_entry_tls){0};
}

/* ---- what the slow halves call ---- */

#define FUNCTIONS(X)                                                                                                   \
    X(void *, malloc, (size_t n), (n))                                                                                 \
    X(void, free, (void *p), (p))                                                                                      \
    X(void *, calloc, (size_t n, size_t m), (n, m))                                                                    \
    X(void *, realloc, (void *p, size_t n), (p, n))                                                                    \
    X(int, posix_memalign, (void **out, size_t alignment, size_t n), (out, alignment, n))                              \
    X(void *, aligned_alloc, (size_t alignment, size_t n), (alignment, n))                                             \
    X(void *, memalign, (size_t alignment, size_t n), (alignment, n))                                                  \
    X(void *, valloc, (size_t n), (n))                                                                                 \
    X(void *, pvalloc, (size_t n), (n))                                                                                \
    X(void, free_sized, (void *p, size_t n), (p, n))                                                                   \
    X(void, free_aligned_sized, (void *p, size_t alignment, size_t n), (p, alignment, n))                              \
    X(size_t, malloc_usable_size, (void *p), (p))

#define FORWARD(type, name, parameters, arguments)                                                                     \
    static type forward_##name parameters                                                                              \
    {                                                                                                                  \
        INSIDE(PL_ENTRY_REAL, pl_entry_tls.family);                                                                    \
        return real[pl_entry_tls.family].name arguments;                                                               \
    }
FUNCTIONS(FORWARD)
#undef FORWARD

void pl_entries_start(void)
{
#define SET(type, name, parameters, arguments) pl_next.name = forward_##name;
    FUNCTIONS(SET)
#undef SET
    if (!real[PL_DESK_MALLOC].malloc_usable_size)
        pl_next.malloc_usable_size = NULL;
}

/* ---- hooks ---- */

/* X(type, name, parameters, arguments, the hot path takes the slow half if) for one family. */
#define HOOK(family, type, name, parameters, arguments, due, slow)                                                     \
    static OUT_OF_LINE type visit_##name##_##family parameters                                                         \
    {                                                                                                                  \
        INSIDE(PL_ENTRY_VISIT, family);                                                                                \
        return slow;                                                                                                   \
    }                                                                                                                  \
    static OUT_OF_LINE type call_##name##_##family parameters                                                          \
    {                                                                                                                  \
        INSIDE(PL_ENTRY_REAL, family);                                                                                 \
        return real[family].name arguments;                                                                            \
    }                                                                                                                  \
    static HOT type hook_##name##_##family parameters                                                                  \
    {                                                                                                                  \
        if (unlikely(pl_entry_tls.inside == PL_ENTRY_REAL))                                                            \
            return real[family].name arguments;                                                                        \
        if (unlikely(due))                                                                                             \
            return visit_##name##_##family arguments;                                                                  \
        return call_##name##_##family arguments;                                                                       \
    }

/* malloc and free call no other function of their family, so they need not be guarded. */
#define HOOK_PLAIN(family, type, name, parameters, arguments, test, due, slow)                                         \
    static OUT_OF_LINE type visit_##name##_##family parameters                                                         \
    {                                                                                                                  \
        INSIDE(PL_ENTRY_VISIT, family);                                                                                \
        return slow;                                                                                                   \
    }                                                                                                                  \
    static HOT type hook_##name##_##family parameters                                                                  \
    {                                                                                                                  \
        if (unlikely(test))                                                                                            \
            return real[family].name arguments;                                                                        \
        if (unlikely(due))                                                                                             \
            return visit_##name##_##family arguments;                                                                  \
        return real[family].name arguments;                                                                            \
    }

static bool fails(size_t n, size_t m, size_t *bytes)
{
    return __builtin_mul_overflow(n, m, bytes);
}

/* realloc(p, 0) and the realloc of a block that may be recorded take the slow half, too, but are not due. */
static void *slow_realloc(void *p, size_t n)
{
    bool due = HOT_CHARGE(PL_FN_REALLOC, n);
    return due || !n || hot_maybe_sampled(p) ? pl_slow_realloc(p, n, due) : pl_next.realloc(p, n);
}

static void *slow_calloc(size_t n, size_t m)
{
    size_t bytes;
    bool due = !fails(n, m, &bytes) && HOT_CHARGE(PL_FN_CALLOC, bytes);
    return due ? pl_slow_calloc(n, m) : pl_next.calloc(n, m);
}

#define HOOKS(family)                                                                                                  \
    HOOK_PLAIN(family, void *, malloc, (size_t n), (n), pl_entry_tls.inside == PL_ENTRY_REAL,                          \
               HOT_CHARGE(PL_FN_MALLOC, n), pl_slow_malloc(n))                                                         \
    HOOK_PLAIN(family, void, free, (void *p), (p), false, hot_maybe_sampled(p), pl_slow_free(p))                       \
    HOOK_PLAIN(family, void, free_sized, (void *p, size_t n), (p, n), false, hot_maybe_sampled(p),                     \
               pl_slow_free_sized(p, n))                                                                               \
    HOOK_PLAIN(family, void, free_aligned_sized, (void *p, size_t alignment, size_t n), (p, alignment, n), false,      \
               hot_maybe_sampled(p), pl_slow_free_aligned_sized(p, alignment, n))                                      \
    HOOK(family, void *, calloc, (size_t n, size_t m), (n, m), true, slow_calloc(n, m))                                \
    HOOK(family, void *, realloc, (void *p, size_t n), (p, n), true, slow_realloc(p, n))                               \
    HOOK(family, int, posix_memalign, (void **out, size_t alignment, size_t n), (out, alignment, n),                   \
         HOT_CHARGE(PL_FN_ALIGNED, n), pl_slow_posix_memalign(out, alignment, n))                                      \
    HOOK(family, void *, aligned_alloc, (size_t alignment, size_t n), (alignment, n), HOT_CHARGE(PL_FN_ALIGNED, n),    \
         pl_slow_aligned_alloc(alignment, n))                                                                          \
    HOOK(family, void *, memalign, (size_t alignment, size_t n), (alignment, n), HOT_CHARGE(PL_FN_ALIGNED, n),         \
         pl_slow_memalign(alignment, n))                                                                               \
    HOOK(family, void *, valloc, (size_t n), (n), HOT_CHARGE(PL_FN_ALIGNED, n), pl_slow_valloc(n))                     \
    HOOK(family, void *, pvalloc, (size_t n), (n), HOT_CHARGE(PL_FN_ALIGNED, n), pl_slow_pvalloc(n))
HOOKS(0)

/* ---- the list ---- */

static struct pl_desk_hook *add(struct pl_desk_hook *hook, const char *name, uintptr_t function, void *pointer,
                                uint32_t family, bool needed)
{
    unsigned i = 0;
    for (; name[i] && i < PL_DESK_NAME_BYTES - 1; i++)
        hook->name[i] = name[i];
    hook->name[i] = 0;
    hook->hook = function;
    hook->real = pointer;
    hook->family = family;
    hook->needed = needed;
    return hook + 1;
}

uint32_t pl_entries_list(struct pl_desk_hook *hook, uint32_t hooks)
{
    struct pl_desk_hook *at = hook + hooks;
#define ADD(family, name, needed)                                                                                      \
    at = add(at, #name, (uintptr_t) hook_##name##_##family, &real[family].name, family, needed)
    ADD(0, malloc, true);
    ADD(0, free, true);
    ADD(0, calloc, true);
    ADD(0, realloc, true);
    ADD(0, posix_memalign, false);
    ADD(0, aligned_alloc, false);
    ADD(0, memalign, false);
    ADD(0, valloc, false);
    ADD(0, pvalloc, false);
    ADD(0, free_sized, false);
    ADD(0, free_aligned_sized, false);
    at = add(at, "malloc_usable_size", 0, &real[0].malloc_usable_size, 0, false);
#undef ADD
    return (uint32_t) (at - hook);
}
