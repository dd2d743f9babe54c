/* SPDX-License-Identifier: MIT */
/* atfork_library.c - its handlers allocate and free at every fork, in parent and child, before all other handlers. */
#include <pthread.h>

#include "trap.h"

void atfork_library(void);

/* The program calls this. Otherwise the linker would leave the library out. */
void atfork_library(void)
{
}

static void *inherited;

static APART void *atfork_allocate(size_t bytes)
{
    return keep(malloc(bytes));
}

static void prepare(void)
{
    free(inherited);
    inherited = atfork_allocate(5000);
}

static void in_parent(void)
{
    free(atfork_allocate(3000));
}

static void in_child(void)
{
    free(inherited);
    inherited = NULL;
    for (int i = 0; i < 10; i++)
        free(atfork_allocate(1000));
}

__attribute__((constructor)) static void construct(void)
{
    CHECK(pthread_atfork(prepare, in_parent, in_child) == 0);
}
