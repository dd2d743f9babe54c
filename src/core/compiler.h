/* SPDX-License-Identifier: MIT */
/*
 * compiler.h - the few words that make hot and cold, and who may be touching what, visible in the code.
 */
#ifndef PL_COMPILER_H
#define PL_COMPILER_H

#define HOT __attribute__((hot))
#define COLD __attribute__((noinline, cold))
#define INLINE static inline __attribute__((always_inline))
#define INITIAL_EXEC __attribute__((tls_model("initial-exec")))
/* On declarations too: without it the compiler goes through a table that the loader has yet to fill in. */
#define HIDDEN __attribute__((visibility("hidden")))
/* The opposite: what the program shall find in its allocator's place. Named in exports.map too. */
#define EXPORT __attribute__((visibility("default")))
#define PAGE_ALIGNED __attribute__((aligned(4096)))

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* relaxed: nobody waits for it; acquire/release: what it names must be there. */
#define load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define fetch_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define exchange(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)

/* True when *p was `old` and is now `new`. */
#define swap_if(p, old, new)                                                                                           \
    ({                                                                                                                 \
        __typeof__(*(p)) old_ = (old);                                                                                 \
        __atomic_compare_exchange_n((p), &old_, (new), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);                         \
    })

/* A signal handler of this thread may look here: keep the order in the program, no need for one between processors. */
#define signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif
