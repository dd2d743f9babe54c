/* SPDX-License-Identifier: MIT */
/* late_library.c - its destructor, which runs after everything else has ended, allocates and frees. */
#include "trap.h"

void late_library(void);

/* The program calls this. Otherwise the linker would leave the library out. */
void late_library(void)
{
}

static void *block[1000];

__attribute__((constructor)) static void construct(void)
{
    for (int i = 0; i < 1000; i++)
        block[i] = keep(malloc(64));
}

__attribute__((destructor(101))) static void destruct(void)
{
    for (int i = 0; i < 1000; i++)
        free(block[i]);
    for (int i = 0; i < 5000; i++)
        free(keep(malloc((size_t) i)));
    dprintf(1, "late\n");
}
