/* SPDX-License-Identifier: MIT */
/*
 * resolver.c - an indirect function whose resolver allocates. If it is bound lazily, that is an allocation below the
 * loader's own assembler code.
 */
#include <stdlib.h>

void resolved(int n);

static void allocate(int n)
{
    void *volatile block = malloc((size_t) n);
    free(block);
}

__attribute__((used)) static void (*resolve(void))(int)
{
    void *volatile block = malloc(33);
    free(block);
    return allocate;
}

void resolved(int n) __attribute__((ifunc("resolve")));
