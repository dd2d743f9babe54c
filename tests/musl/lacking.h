/* SPDX-License-Identifier: MIT */
/* lacking.h - what programs of other suites use and musl does not have. Included in front of each of them. */
#include <stddef.h>
#include <stdlib.h>

static inline __attribute__((unused)) void *pvalloc(size_t bytes)
{
    extern void *valloc(size_t bytes_);
    return valloc(bytes);
}

#define M_ARENA_MAX 0
#define M_MMAP_THRESHOLD 0
#define M_TRIM_THRESHOLD 0
static inline __attribute__((unused)) int mallopt(int option, int value)
{
    (void) option, (void) value;
    return 1;
}

static inline __attribute__((unused)) int feenableexcept(int which)
{
    unsigned control;
    __asm__ volatile("stmxcsr %0" : "=m"(control));
    control &= ~((unsigned) which << 7);
    __asm__ volatile("ldmxcsr %0" : : "m"(control));
    return 0;
}

static inline __attribute__((unused)) int fedisableexcept(int which)
{
    unsigned control;
    __asm__ volatile("stmxcsr %0" : "=m"(control));
    control |= (unsigned) which << 7;
    __asm__ volatile("ldmxcsr %0" : : "m"(control));
    return 0;
}

static inline __attribute__((unused)) int fegetexcept(void)
{
    unsigned control;
    __asm__ volatile("stmxcsr %0" : "=m"(control));
    return (int) (~control >> 7 & 0x3f);
}
