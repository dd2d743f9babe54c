/* SPDX-License-Identifier: MIT */
/*
 * modules.c - allocates while it holds the loader's locks, and lets another thread allocate meanwhile.
 *
 * A profiler that called the loader from inside malloc would wait here forever.
 */
#include <link.h>
#include <pthread.h>

#include "trap.h"

#define CALLS 200

static APART void *modules_allocate(size_t bytes)
{
    return keep(malloc(bytes));
}

static void *allocate(void *unused)
{
    for (int i = 0; i < CALLS; i++)
        free(modules_allocate((size_t) i));
    return unused;
}

static int visit(struct dl_phdr_info *info, size_t bytes, void *visited)
{
    pthread_t thread;
    (void) bytes;
    allocate(NULL);
    CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0 && pthread_join(thread, NULL) == 0);
    free(strdup(info->dlpi_name));
    ++*(int *) visited;
    return *(int *) visited == 3;
}

int main(void)
{
    int visited = 0;
    CHECK(dl_iterate_phdr(visit, &visited) == 1);
    CHECK(visited == 3);
    return 0;
}
