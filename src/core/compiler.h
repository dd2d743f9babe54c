/* SPDX-License-Identifier: MIT */
/*
 * compiler.h - macros that mark hot and cold code, and data that other threads or signal handlers may access.
 */
#ifndef PL_COMPILER_H
#define PL_COMPILER_H

#define HOT __attribute__((hot))
#define COLD __attribute__((noinline, cold))
#define OUT_OF_LINE __attribute__((noinline)) /* not rare, but its frame would make the caller's too large */
#define INLINE static inline __attribute__((always_inline))
#define INITIAL_EXEC __attribute__((tls_model("initial-exec")))
/* Needed on declarations too: otherwise the compiler uses the GOT, which the loader may not have filled in yet. */
#define HIDDEN __attribute__((visibility("hidden")))
/* The opposite: symbols that replace the program's own. They must be listed in exports.map too. */
#define EXPORT __attribute__((visibility("default")))

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* relaxed: no other data depends on the value; acquire/release: the value publishes data written before it. */
#define load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define fetch_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define fetch_or(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELEASE)
#define exchange(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)

/* Compare and swap: true if *p was `old` and is now `new`. */
#define swap_if(p, old, new)                                                                                           \
    ({                                                                                                                 \
        __typeof__(*(p)) old_ = (old);                                                                                 \
        __atomic_compare_exchange_n((p), &old_, (new), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);                         \
    })

/* Orders accesses for a signal handler of this thread: a barrier for the compiler, not for the processor. */
#define signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif
