/* SPDX-License-Identifier: MIT */
/*
 * nulls.c - one thread frees NULL continuously while others allocate and free. Everything that is allocated is freed.
 *
 *   nulls CALLS
 *
 * It runs with bump.c. A block near an address whose low half is zero stays live until the end, so that the profiler's
 * filter cannot distinguish free(NULL) from the free of a sampled block.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 2
#define KEPT 256 /* live blocks of each thread: some of them share a filter byte with NULL */

static uint64_t calls;
static bool done;

static void *work(void *unused)
{
    void *kept[KEPT] = {NULL};
    for (uint64_t i = 0; i < calls; i++) {
        free(kept[i % KEPT]);
        kept[i % KEPT] = malloc(16 + i % 512);
    }
    for (int i = 0; i < KEPT; i++)
        free(kept[i]);
    return unused;
}

static void *free_nulls(void *unused)
{
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
        for (int i = 0; i < 1000; i++)
            free(NULL);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t worker[THREADS], nulls;
    void *kept = malloc(32);
    calls = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    if ((uint32_t) (uintptr_t) kept >= 4096) {
        fprintf(stderr, "the first block is at %p, which has another filter byte than NULL\n", kept);
        return 1;
    }
    pthread_create(&nulls, NULL, free_nulls, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&worker[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(worker[i], NULL);
    __atomic_store_n(&done, true, __ATOMIC_RELAXED);
    pthread_join(nulls, NULL);
    free(kept);
    return 0;
}
