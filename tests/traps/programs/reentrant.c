/* SPDX-License-Identifier: MIT */
/*
 * reentrant.c - an allocator that may be interrupted, or left by longjmp, at any point and entered again: it only
 * advances a pointer. Tests that do this to the runtime use it as the real allocator. libc's malloc would not survive.
 */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>

#include "trap.h"

#define HEAD 16
#define REGION ((size_t) 1 << 32)

/* Set by programs that want a free() that returns late, when other threads can have the block already. */
int reentrant_lingers;

static char *region;
static size_t used;

__attribute__((constructor)) static void reserve(void)
{
    if (!__atomic_load_n(&region, __ATOMIC_ACQUIRE)) {
        void *at = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        char *none = NULL;
        __atomic_compare_exchange_n(&region, &none, at, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }
}

/* Freed blocks of up to 1,008 bytes come back: one slot per size, filled and emptied by an exchange. */
static void *freed[64];

static size_t room_for(size_t bytes)
{
    return (bytes + HEAD + 15) & ~(size_t) 15;
}

static void *get(size_t bytes)
{
    size_t room = room_for(bytes);
    if (bytes > REGION / 2) {
        errno = ENOMEM;
        return NULL;
    }
    void *again = room / 16 < 64 ? __atomic_exchange_n(&freed[room / 16], NULL, __ATOMIC_ACQ_REL) : NULL;
    if (again)
        return again;
    reserve();
    char *block = region + __atomic_fetch_add(&used, room, __ATOMIC_RELAXED);
    if (block + room > region + REGION) {
        errno = ENOMEM;
        return NULL;
    }
    *(size_t *) (void *) block = bytes;
    return block + HEAD;
}

static size_t size_of(void *block)
{
    return *(size_t *) (void *) ((char *) block - HEAD);
}

static void put(void *block)
{
    void *none = NULL;
    if (!block)
        return;
    size_t room = room_for(size_of(block));
    if (room / 16 < 64)
        __atomic_compare_exchange_n(&freed[room / 16], &none, block, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (reentrant_lingers)
        sched_yield();
}

/* ---- the functions themselves: none calls another, because a preloaded library would intercept that call ---- */

void *malloc(size_t bytes)
{
    return get(bytes);
}

void free(void *block)
{
    put(block);
}

void *calloc(size_t n, size_t m)
{
    size_t bytes;
    char *block = __builtin_mul_overflow(n, m, &bytes) ? NULL : get(bytes);
    for (size_t i = 0; block && i < bytes; i++)
        ((volatile char *) block)[i] = 0; /* the compiler would turn the loop into a call of calloc */
    return block;
}

void *realloc(void *block, size_t bytes)
{
    void *moved = get(bytes);
    if (moved && block) {
        memcpy(moved, block, size_of(block) < bytes ? size_of(block) : bytes);
        put(block);
    }
    return moved;
}
