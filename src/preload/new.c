/* SPDX-License-Identifier: MIT */
/*
 * new.c - operator new and delete, for allocators that bring their own.
 *
 * libstdc++'s operator new calls malloc, which counts it. jemalloc, tcmalloc and mimalloc define an operator new that
 * does not call malloc, so the allocations of a C++ program with one of them would not be seen. This file is only in
 * libplimsoll-cxx.so, which `plimsoll run` chooses if the program's allocator defines both malloc and operator new. In
 * any other process we must not interpose the operators: we could come between a plugin and its own definitions.
 *
 * No allocation is counted twice: an operator is counted only if its next definition is in the same module as the next
 * malloc, and does not call a function that we hook (jemalloc's aligned operators do). Otherwise our operator only
 * forwards, and the function that the next one calls is counted. This is decided for each operator separately.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/compiler.h"
#include "core/unwind/find.h"
#include "core/visit.h"
#include "preload/hooks.h"
#include "preload/next.h"

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
    /* counted: the next definition of this operator does not call malloc or free */
#define FIELD(symbol, parameters, arguments)                                                                           \
    void *(*symbol) parameters;                                                                                        \
    bool counted##symbol;
    OPERATORS_NEW(FIELD)
#undef FIELD
#define FIELD(symbol, parameters, arguments)                                                                           \
    void(*symbol) parameters;                                                                                          \
    bool counted##symbol;
    OPERATORS_DELETE(FIELD)
#undef FIELD
} next;

static uint64_t calls_until_now(void)
{
    uint64_t all = 0;
    for (int i = 0; i < PL_FN_COUNT; i++)
        all += pl_tls.calls[i];
    return all;
}

/* We find out whether an operator calls one of our hooks by calling it. The program did not make that call, so our
 * counters are restored. */
static bool returned_uncounted(void *block, const struct pl_tls *before, uint64_t calls)
{
    bool uncounted = calls_until_now() == calls;
    pl_next.free(block);
    pl_tls.charge_left = before->charge_left;
    for (int i = 0; i < PL_FN_COUNT; i++)
        pl_tls.calls[i] = before->calls[i];
    return uncounted;
}

static void look_up(void)
{
    const size_t n = 64, alignment = 64;
    const char nothrow = 0;
    const void *tag = &nothrow;
    void *allocator = pl_next_find("malloc");
#define LOOK_UP(symbol, parameters, arguments)                                                                         \
    next.symbol = pl_next_find(#symbol);                                                                               \
    if (pl_find_same_module((uintptr_t) next.symbol, (uintptr_t) allocator)) {                                         \
        struct pl_tls before = pl_tls;                                                                                 \
        uint64_t calls = calls_until_now();                                                                            \
        pl_tls.charge_left = 1ull << 62;                                                                               \
        next.counted##symbol = returned_uncounted(next.symbol arguments, &before, calls);                              \
    }
    OPERATORS_NEW(LOOK_UP)
#undef LOOK_UP
#define LOOK_UP(symbol, parameters, arguments)                                                                         \
    next.symbol = pl_next_find(#symbol);                                                                               \
    next.counted##symbol = pl_find_same_module((uintptr_t) next.symbol, (uintptr_t) allocator);
    OPERATORS_DELETE(LOOK_UP)
#undef LOOK_UP
    store_release(&next.known, true);
}

#define NEW(symbol, parameters, arguments)                                                                             \
    EXPORT HOT void *symbol parameters;                                                                                \
    PL_ARCH_ENTRY static __attribute__((noinline)) void *cold##symbol parameters                                       \
    {                                                                                                                  \
        struct pl_start start;                                                                                         \
        PL_START_HERE(&start);                                                                                         \
        struct pl_cold_plan plan = pl_visit_due(PL_FN_NEW, n);                                                         \
        void *block = next.symbol arguments; /* may throw */                                                           \
        pl_visit_allocated(PL_FN_NEW, n, block, plan, &start);                                                         \
        return block;                                                                                                  \
    }                                                                                                                  \
    void *symbol parameters                                                                                            \
    {                                                                                                                  \
        if (unlikely(!load_acquire(&next.known)))                                                                      \
            look_up();                                                                                                 \
        if (unlikely(!next.symbol)) /* libstdc++ is not visible to us: do what it would do */                          \
            return malloc(n ? n : 1);                                                                                  \
        if (next.counted##symbol && unlikely(HOT_CHARGE(PL_FN_NEW, n)))                                                \
            return cold##symbol arguments;                                                                             \
        return next.symbol arguments;                                                                                  \
    }
OPERATORS_NEW(NEW)

#define DELETE(symbol, parameters, arguments)                                                                          \
    EXPORT HOT void symbol parameters;                                                                                 \
    void symbol parameters                                                                                             \
    {                                                                                                                  \
        if (unlikely(!load_acquire(&next.known)))                                                                      \
            look_up();                                                                                                 \
        if (next.counted##symbol && unlikely(hot_maybe_sampled(p))) {                                                  \
            if (unlikely(pl_next_pool_owns(p)))                                                                        \
                return;                                                                                                \
            pl_visit_freeing(p);                                                                                       \
        }                                                                                                              \
        if (likely(next.symbol))                                                                                       \
            next.symbol arguments;                                                                                     \
        else                                                                                                           \
            free(p);                                                                                                   \
    }
OPERATORS_DELETE(DELETE)
