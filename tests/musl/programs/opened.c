/* SPDX-License-Identifier: MIT */
/* opened.c - a library whose constructor allocates, before dlopen() has returned. */
#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline)) void site_constructor(void)
{
    kept = malloc(4321);
    __asm__ volatile("");
}

__attribute__((constructor)) static void begin(void)
{
    site_constructor();
    __asm__ volatile("");
}
