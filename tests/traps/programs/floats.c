/* SPDX-License-Identifier: MIT */
/*
 * floats.c - allocates and frees under every floating-point environment: rounding modes, sticky flags, and unmasked
 * exceptions.
 */
#include <fenv.h>
#include <pthread.h>
#include <stdint.h>

#include "trap.h"

static void allocate(void)
{
    void *block[50];
    for (int i = 0; i < 50; i++)
        block[i] = keep(malloc((size_t) (i * 37)));
    for (int i = 0; i < 50; i++)
        free(i % 2 ? block[i] : realloc(block[i], 3000));
}

/* Everything that a program may set or read: MXCSR, or FPCR and FPSR. */
static uint64_t environment(void)
{
#if defined(__x86_64__)
    uint32_t mxcsr;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    return mxcsr;
#else
    return (uint64_t) __builtin_aarch64_get_fpcr() << 32 | __builtin_aarch64_get_fpsr();
#endif
}

/* Not every processor can raise SIGFPE. */
static int can_trap(void)
{
    int enabled = feenableexcept(FE_ALL_EXCEPT) != -1 && fegetexcept() == FE_ALL_EXCEPT;
#if defined(__x86_64__)
    CHECK(enabled);
#endif
    return enabled;
}

static void check_rounding(void)
{
    static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    for (int i = 0; i < 4; i++) {
        CHECK(fesetround(modes[i]) == 0);
        allocate();
        CHECK(fegetround() == modes[i]);
    }
    CHECK(fesetround(FE_TONEAREST) == 0);
}

static void check_flags(void)
{
    for (int flags = 0; flags <= FE_ALL_EXCEPT; flags++) {
        feclearexcept(FE_ALL_EXCEPT);
        feraiseexcept(flags & FE_ALL_EXCEPT);
        uint64_t before = environment();
        allocate();
        CHECK(environment() == before);
    }
    feclearexcept(FE_ALL_EXCEPT);
}

/* With exceptions unmasked, the first inexact result raises SIGFPE. */
static void check_traps(void)
{
    feclearexcept(FE_ALL_EXCEPT);
    int traps = can_trap();
    allocate();
    CHECK(!traps || fegetexcept() == FE_ALL_EXCEPT);
    fedisableexcept(FE_ALL_EXCEPT);
}

/* A computation that has values on the x87 register stack while we are called. */
static void check_x87(void)
{
    volatile long double third = 1.0L / 3;
    long double sum = third + 1;
    allocate();
    CHECK(sum == third + 1);
}

static void *work(void *unused)
{
    check_traps();
    check_rounding();
    check_flags();
    check_x87();
    return unused;
}

int main(void)
{
    pthread_t thread;
    can_trap(); /* threads inherit it, so that their first visit has it, too */
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
    fedisableexcept(FE_ALL_EXCEPT);
    work(NULL);
    return 0;
}
