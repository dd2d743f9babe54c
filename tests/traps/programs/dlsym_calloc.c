/* SPDX-License-Identifier: MIT */
/*
 * dlsym_calloc.c - a dlsym() that allocates before it returns, more than any fixed pool holds. It frees and moves some
 * of the blocks, as other implementations do, and keeps the rest.
 */
#include <dlfcn.h>

#include "trap.h"

#define PER_CALL 40
#define BYTES 200

void *dlsym_block;      /* the first one, full of the letter p */
unsigned dlsym_refused; /* how often an allocation failed */

static void fill(char *block, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        CHECK(block[i] == 0);
    memset(block, 'p', bytes);
}

static void allocate(void)
{
    for (int i = 0; i < PER_CALL; i++) {
        char *block = calloc(1, BYTES);
        if (!block) {
            dlsym_refused++;
            continue;
        }
        fill(block, BYTES);
        if (!dlsym_block)
            dlsym_block = block;
        else if (i % 2)
            free(block);
    }
}

void *dlsym(void *handle, const char *name)
{
    void *(*next)(void *, const char *) = (void *(*) (void *, const char *) ) dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    allocate();
    return next(handle, name);
}
