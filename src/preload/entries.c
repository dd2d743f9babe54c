/* SPDX-License-Identifier: MIT */
/*
 * entries.c - see entries.h. One set of hooks for each family of allocation functions.
 *
 * malloc takes two instructions more than the hook of hooks.c, for the test of `inside`; free takes the same six. What
 * allocators implement with the help of others (realloc, calloc, the aligned functions) is always called with `inside`
 * set.
 *
 * libplimsoll.so contains this file beside the hooks of hooks.c, whose blocks come from another allocator. So the two
 * have next definitions and slow halves of their own (PL_BESIDE).
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

#ifdef PL_BESIDE
struct pl_next pl_next;
#define FAMILY PL_DESK_LINKED
#else
#define FAMILY pl_entry_tls.family
#endif

/* ---- inside ---- */

#define INSIDE PL_ENTRY_INSIDE

void pl_entries_thrown(uintptr_t sp)
{
    if (pl_entry_tls.inside && (int32_t) ((uint32_t) sp - pl_entry_tls.sp) > 0)
        pl_entry_tls = (struct pl_entry_tls){0};
}

/* An exception may have left a hook (std::bad_alloc). Then the frame that set `inside` is gone. */
static OUT_OF_LINE bool is_nested(void)
{
    pl_entries_thrown(pl_arch_stack_pointer());
    return pl_entry_tls.inside == PL_ENTRY_REAL;
}

#define NESTED() (unlikely(pl_entry_tls.inside == PL_ENTRY_REAL) && is_nested())

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
    X(void, free_aligned_sized, (void *p, size_t alignment, size_t n), (p, alignment, n))

#define FORWARD(type, name, parameters, arguments)                                                                     \
    static type forward_##name parameters                                                                              \
    {                                                                                                                  \
        INSIDE(PL_ENTRY_REAL, FAMILY);                                                                                 \
        return real[FAMILY].name arguments;                                                                            \
    }
FUNCTIONS(FORWARD)
#undef FORWARD

static size_t usable_bytes(void *p, uint32_t family)
{
    INSIDE(PL_ENTRY_REAL, family);
    return real[family].malloc_usable_size ? real[family].malloc_usable_size(p) : 0;
}

static size_t forward_malloc_usable_size(void *p)
{
    return usable_bytes(p, FAMILY);
}

void pl_entries_start(void)
{
#define SET(type, name, parameters, arguments) pl_next.name = forward_##name;
    FUNCTIONS(SET)
#undef SET
    pl_next.malloc_usable_size = forward_malloc_usable_size;
}

void *pl_entries_call(pl_other_function *function, uintptr_t a, uintptr_t b, uintptr_t c)
{
    INSIDE(PL_ENTRY_REAL, PL_DESK_LINKED);
    return function(a, b, c);
}

size_t pl_entries_usable_bytes(void *block)
{
    return usable_bytes(block, PL_DESK_LINKED);
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
        if (NESTED())                                                                                                  \
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
    HOOK_PLAIN(family, void *, malloc, (size_t n), (n), NESTED(), HOT_CHARGE(PL_FN_MALLOC, n), pl_slow_malloc(n))      \
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
#ifndef PL_BESIDE
HOOKS(0)
#endif
HOOKS(1)

/* ---- functions that only some allocators have ---- */

/*
 * Their arguments are whole numbers and pointers, at most three that we need to know, so one type serves all: which
 * registers have them does not depend on the type. A flag of jemalloc's mallocx() asks for zeros, its lower bits for an
 * alignment.
 */
#define ZEROED 0x40u
#define ALIGNED 0x3fu
#define FLAGGED (b & ZEROED ? PL_FN_CALLOC : b & ALIGNED ? PL_FN_ALIGNED : PL_FN_MALLOC)

static bool charge_mallocx(size_t a, size_t b)
{
    return b & ZEROED    ? HOT_CHARGE(PL_FN_CALLOC, a)
           : b & ALIGNED ? HOT_CHARGE(PL_FN_ALIGNED, a)
                         : HOT_CHARGE(PL_FN_MALLOC, a);
}

/* X(name, what it is counted as, bytes requested, due) */
#define ALLOCATING(X)                                                                                                  \
    X(mallocx, FLAGGED, a, charge_mallocx(a, b))                                                                       \
    X(mi_malloc_small, PL_FN_MALLOC, a, HOT_CHARGE(PL_FN_MALLOC, a))                                                   \
    X(mi_zalloc, PL_FN_CALLOC, a, HOT_CHARGE(PL_FN_CALLOC, a))                                                         \
    X(mi_zalloc_small, PL_FN_CALLOC, a, HOT_CHARGE(PL_FN_CALLOC, a))                                                   \
    X(mi_mallocn, PL_FN_MALLOC, product(a, b), HOT_CHARGE(PL_FN_MALLOC, product(a, b)))                                \
    X(mi_malloc_aligned, PL_FN_ALIGNED, a, HOT_CHARGE(PL_FN_ALIGNED, a))                                               \
    X(mi_zalloc_aligned, PL_FN_ALIGNED, a, HOT_CHARGE(PL_FN_ALIGNED, a))                                               \
    X(mi_calloc_aligned, PL_FN_ALIGNED, product(a, b), HOT_CHARGE(PL_FN_ALIGNED, product(a, b)))                       \
    X(mi_new, PL_FN_NEW, a, HOT_CHARGE(PL_FN_NEW, a))                                                                  \
    X(mi_new_nothrow, PL_FN_NEW, a, HOT_CHARGE(PL_FN_NEW, a))                                                          \
    X(mi_new_aligned, PL_FN_NEW, a, HOT_CHARGE(PL_FN_NEW, a))                                                          \
    X(mi_new_aligned_nothrow, PL_FN_NEW, a, HOT_CHARGE(PL_FN_NEW, a))                                                  \
    X(mi_new_n, PL_FN_NEW, product(a, b), HOT_CHARGE(PL_FN_NEW, product(a, b)))                                        \
    X(_Znwm, PL_FN_NEW, a, HOT_CHARGE(PL_FN_NEW, a))                                                                   \
    X(_Znam, PL_FN_NEW, a, HOT_CHARGE(PL_FN_NEW, a))                                                                   \
    X(_ZnwmRKSt9nothrow_t, PL_FN_NEW, a, HOT_CHARGE(PL_FN_NEW, a))                                                     \
    X(_ZnamRKSt9nothrow_t, PL_FN_NEW, a, HOT_CHARGE(PL_FN_NEW, a))                                                     \
    X(_ZnwmSt11align_val_t, PL_FN_NEW, a, HOT_CHARGE(PL_FN_NEW, a))                                                    \
    X(_ZnamSt11align_val_t, PL_FN_NEW, a, HOT_CHARGE(PL_FN_NEW, a))                                                    \
    X(_ZnwmSt11align_val_tRKSt9nothrow_t, PL_FN_NEW, a, HOT_CHARGE(PL_FN_NEW, a))                                      \
    X(_ZnamSt11align_val_tRKSt9nothrow_t, PL_FN_NEW, a, HOT_CHARGE(PL_FN_NEW, a))

#define FREEING(X)                                                                                                     \
    X(dallocx)                                                                                                         \
    X(sdallocx)                                                                                                        \
    X(cfree)                                                                                                           \
    X(mi_free_size)                                                                                                    \
    X(mi_free_size_aligned)                                                                                            \
    X(mi_free_aligned)                                                                                                 \
    X(_ZdlPv)                                                                                                          \
    X(_ZdaPv)                                                                                                          \
    X(_ZdlPvm)                                                                                                         \
    X(_ZdaPvm)                                                                                                         \
    X(_ZdlPvRKSt9nothrow_t)                                                                                            \
    X(_ZdaPvRKSt9nothrow_t)                                                                                            \
    X(_ZdlPvSt11align_val_t)                                                                                           \
    X(_ZdaPvSt11align_val_t)                                                                                           \
    X(_ZdlPvmSt11align_val_t)                                                                                          \
    X(_ZdaPvmSt11align_val_t)                                                                                          \
    X(_ZdlPvSt11align_val_tRKSt9nothrow_t)                                                                             \
    X(_ZdaPvSt11align_val_tRKSt9nothrow_t)

/* X(name, bytes requested): the block is `a`. */
#define MOVING(X)                                                                                                      \
    X(rallocx, b)                                                                                                      \
    X(reallocarray, product(b, c))                                                                                     \
    X(mi_reallocn, product(b, c))                                                                                      \
    X(mi_reallocf, b)                                                                                                  \
    X(mi_rezalloc, b)                                                                                                  \
    X(mi_realloc_aligned, b)                                                                                           \
    X(mi_rezalloc_aligned, b)

/* What does not fit fails. */
static size_t product(size_t n, size_t m)
{
    size_t bytes;
    return fails(n, m, &bytes) ? SIZE_MAX : bytes;
}

#define HOOK_ALLOCATING(name, function, bytes, due)                                                                    \
    static pl_other_function *real_##name;                                                                             \
    static OUT_OF_LINE void *visit_##name(uintptr_t a, uintptr_t b, uintptr_t c)                                       \
    {                                                                                                                  \
        INSIDE(PL_ENTRY_VISIT, PL_DESK_LINKED);                                                                        \
        return pl_slow_allocate(real_##name, function, bytes, a, b, c);                                                \
    }                                                                                                                  \
    static HOT void *hook_##name(uintptr_t a, uintptr_t b, uintptr_t c)                                                \
    {                                                                                                                  \
        if (NESTED() || unlikely(bytes == SIZE_MAX))                                                                   \
            return real_##name(a, b, c);                                                                               \
        if (unlikely(due))                                                                                             \
            return visit_##name(a, b, c);                                                                              \
        return pl_entries_call(real_##name, a, b, c);                                                                  \
    }
ALLOCATING(HOOK_ALLOCATING)

#define HOOK_FREEING(name)                                                                                             \
    static pl_other_function *real_##name;                                                                             \
    static OUT_OF_LINE void *visit_##name(uintptr_t a, uintptr_t b, uintptr_t c)                                       \
    {                                                                                                                  \
        INSIDE(PL_ENTRY_VISIT, PL_DESK_LINKED);                                                                        \
        return pl_slow_release(real_##name, a, b, c);                                                                  \
    }                                                                                                                  \
    static HOT void *hook_##name(uintptr_t a, uintptr_t b, uintptr_t c)                                                \
    {                                                                                                                  \
        if (unlikely(hot_maybe_sampled((void *) a)))                                                                   \
            return visit_##name(a, b, c);                                                                              \
        return real_##name(a, b, c);                                                                                   \
    }
FREEING(HOOK_FREEING)

#define HOOK_MOVING(name, bytes)                                                                                       \
    static pl_other_function *real_##name;                                                                             \
    static OUT_OF_LINE void *visit_##name(uintptr_t a, uintptr_t b, uintptr_t c)                                       \
    {                                                                                                                  \
        INSIDE(PL_ENTRY_VISIT, PL_DESK_LINKED);                                                                        \
        return pl_slow_move(real_##name, bytes, a, b, c);                                                              \
    }                                                                                                                  \
    static HOT void *hook_##name(uintptr_t a, uintptr_t b, uintptr_t c)                                                \
    {                                                                                                                  \
        if (NESTED() || unlikely(bytes == SIZE_MAX))                                                                   \
            return real_##name(a, b, c);                                                                               \
        return visit_##name(a, b, c);                                                                                  \
    }
MOVING(HOOK_MOVING)

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

#define ADD(family, name, needed)                                                                                      \
    at = add(at, #name, (uintptr_t) hook_##name##_##family, &real[family].name, family, needed)

#ifndef PL_BESIDE
uint32_t pl_entries_list(struct pl_desk_hook *hook, uint32_t hooks)
{
    struct pl_desk_hook *at = hook + hooks;
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
    return (uint32_t) (at - hook);
}
#endif

/* The standard functions come first: of functions that are one and the same, the first is hooked. */
uint32_t pl_entries_list_linked(struct pl_desk_hook *hook, uint32_t hooks)
{
    struct pl_desk_hook *at = hook + hooks;
    ADD(1, malloc, true);
    ADD(1, free, true);
    ADD(1, calloc, true);
    ADD(1, realloc, true);
    ADD(1, posix_memalign, false);
    ADD(1, aligned_alloc, false);
    ADD(1, memalign, false);
    ADD(1, valloc, false);
    ADD(1, pvalloc, false);
    ADD(1, free_sized, true);
    ADD(1, free_aligned_sized, true);
    at = add(at, "malloc_usable_size", 0, &real[1].malloc_usable_size, PL_DESK_LINKED, false);
#define OTHER(name, needed) at = add(at, #name, (uintptr_t) hook_##name, &real_##name, PL_DESK_LINKED, needed);
#define ADD_ALLOCATING(name, ...) OTHER(name, false)
#define ADD_FREEING(name) OTHER(name, true)
#define ADD_MOVING(name, ...) OTHER(name, true)
    ALLOCATING(ADD_ALLOCATING)
    FREEING(ADD_FREEING)
    MOVING(ADD_MOVING)
    return (uint32_t) (at - hook);
}
