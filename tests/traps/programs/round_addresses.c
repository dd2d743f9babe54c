/* SPDX-License-Identifier: MIT */
/*
 * round_addresses.c - an allocator that puts blocks of 4,000 bytes at multiples of 4 GiB, where the low half of the
 * address is that of NULL. Everything else is libc's.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>

#include "trap.h"

#define ROUND ((uintptr_t) 1 << 32)
#define SPECIAL 4000

void *malloc(size_t bytes)
{
    static void *(*next)(size_t);
    static uintptr_t at = 16 * ROUND;
    if (!next)
        next = (void *(*) (size_t)) dlsym(RTLD_NEXT, "malloc");
    if (bytes != SPECIAL)
        return next(bytes);
    at += ROUND;
    return mmap((void *) at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

void free(void *block)
{
    static void (*next)(void *);
    if (!next)
        next = (void (*)(void *)) dlsym(RTLD_NEXT, "free");
    if (block && (uintptr_t) block % ROUND == 0)
        munmap(block, 4096);
    else
        next(block);
}
