/* SPDX-License-Identifier: MIT */
/*
 * new.c - operator new and delete, for allocators that bring their own.
 *
 * libstdc++'s operator new calls malloc, where it is counted. jemalloc, tcmalloc and mimalloc define an operator new that
 * does not, so a C++ program over one of them would be invisible. This file is only in libplimsoll-cxx.so, which
 * `plimsoll run` chooses when the allocator in charge defines both: in any other process the operators are none of our
 * business, and a library that interposes them can come between a plugin and its own.
 *
 * Never counted twice: an operator counts only if the next definition of it lies in the same module as the next malloc.
 * Otherwise it forwards, and malloc counts.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "bootstrap.h"
#include "cold.h"
#include "compiler.h"
#include "find.h"
#include "hot.h"
#include "next.h"

#define EXPORT __attribute__((visibility("default")))

/* X(symbol, parameters, arguments) of every operator new: plain, array, nothrow, aligned. */
#define OPERATORS_NEW(X)                                                                                               \
    X(_Znwm, (size_t n), (n))                                                                                          \
    X(_Znam, (size_t n), (n))                                                                                          \
    X(_ZnwmRKSt9nothrow_t, (size_t n, const void *tag), (n, tag))                                                      \
    X(_ZnamRKSt9nothrow_t, (size_t n, const void *tag), (n, tag))                                                      \
    X(_ZnwmSt11align_val_t, (size_t n, size_t alignment), (n, alignment))                                              \
    X(_ZnamSt11align_val_t, (size_t n, size_t alignment), (n, alignment))                                              \
    X(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t n, size_t alignment, const void *tag), (n, alignment, tag))          \
    X(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t n, size_t alignment, const void *tag), (n, alignment, tag))

#define OPERATORS_DELETE(X)                                                                                            \
    X(_ZdlPv, (void *p), (p))                                                                                          \
    X(_ZdaPv, (void *p), (p))                                                                                          \
    X(_ZdlPvm, (void *p, size_t n), (p, n))                                                                            \
    X(_ZdaPvm, (void *p, size_t n), (p, n))                                                                            \
    X(_ZdlPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))                                                      \
    X(_ZdaPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))                                                      \
    X(_ZdlPvSt11align_val_t, (void *p, size_t alignment), (p, alignment))                                              \
    X(_ZdaPvSt11align_val_t, (void *p, size_t alignment), (p, alignment))                                              \
    X(_ZdlPvmSt11align_val_t, (void *p, size_t n, size_t alignment), (p, n, alignment))                                \
    X(_ZdaPvmSt11align_val_t, (void *p, size_t n, size_t alignment), (p, n, alignment))                                \
    X(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t alignment, const void *tag), (p, alignment, tag))          \
    X(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t alignment, const void *tag), (p, alignment, tag))

static struct {
    bool known;
    bool counted; /* the operators behind us do not go through malloc */
#define FIELD(symbol, parameters, arguments) void *(*symbol) parameters;
    OPERATORS_NEW(FIELD)
#undef FIELD
#define FIELD(symbol, parameters, arguments) void(*symbol) parameters;
    OPERATORS_DELETE(FIELD)
#undef FIELD
} next;

static bool same_module(void *a, void *b)
{
    struct pl_found at_a, at_b;
    return a && b && pl_module_find((uintptr_t) a, &at_a) && pl_module_find((uintptr_t) b, &at_b) &&
           at_a.start == at_b.start;
}

/* Missing, as in a C program or where libstdc++ came in as somebody's private dependency: do what it would have done. */
static void *no_new(size_t n)
{
    return pl_next.malloc(n ? n : 1);
}

static void look_up(void)
{
#define LOOK_UP(symbol, parameters, arguments) next.symbol = pl_next_find(#symbol);
    OPERATORS_NEW(LOOK_UP)
    OPERATORS_DELETE(LOOK_UP)
#undef LOOK_UP
    next.counted = same_module((void *) next._Znwm, pl_next_find("malloc"));
    store_release(&next.known, true);
}

#define NEW(symbol, parameters, arguments)                                                                             \
    EXPORT HOT void *symbol parameters;                                                                                \
    static COLD void *cold##symbol parameters                                                                          \
    {                                                                                                                  \
        struct pl_start start;                                                                                         \
        PL_START_HERE(&start);                                                                                         \
        void *block = next.symbol arguments;                                                                           \
        pl_cold_allocated(PL_FN_NEW, n, block, &start);                                                                \
        return block;                                                                                                  \
    }                                                                                                                  \
    void *symbol parameters                                                                                            \
    {                                                                                                                  \
        if (unlikely(!load_acquire(&next.known)))                                                                      \
            look_up();                                                                                                 \
        if (unlikely(!next.symbol))                                                                                    \
            return no_new(n);                                                                                          \
        if (next.counted && unlikely(HOT_CHARGE(PL_FN_NEW, n)))                                                        \
            return cold##symbol arguments;                                                                             \
        return next.symbol arguments;                                                                                  \
    }
OPERATORS_NEW(NEW)

static COLD bool forget(void *p)
{
    struct pl_record record;
    if (pl_bootstrap_owns(p))
        return false;
    if (pl_cold_take(p, &record))
        pl_cold_freed(&record);
    return true;
}

#define DELETE(symbol, parameters, arguments)                                                                          \
    EXPORT HOT void symbol parameters;                                                                                 \
    void symbol parameters                                                                                             \
    {                                                                                                                  \
        if (unlikely(!load_acquire(&next.known)))                                                                      \
            look_up();                                                                                                 \
        if (next.counted && unlikely(hot_maybe_sampled(p)) && !forget(p))                                              \
            return;                                                                                                    \
        if (likely(next.symbol))                                                                                       \
            next.symbol arguments;                                                                                     \
        else                                                                                                           \
            pl_next.free(p);                                                                                           \
    }
OPERATORS_DELETE(DELETE)
