/* SPDX-License-Identifier: MIT */
/*
 * arenas.c - threads that have freed most of what they allocated, so that their arenas keep it.
 *
 * usage: arenas THREADS     prints `ready`; each byte of its input is a call of malloc_trim(), then it prints `trimmed`
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 2000
#define BYTES 2040 /* with its header: too large for a thread's cache */

static pthread_barrier_t filled;

/* The last block stays, so that none of the others is at the end of the heap. */
static void *fill(void *unused)
{
    void *block[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        memset(block[i] = malloc(BYTES), 1, BYTES);
    pthread_barrier_wait(&filled); /* before any is freed: each thread has an arena of its own */
    for (int i = 0; i + 1 < BLOCKS; i++)
        free(block[i]);
    pthread_barrier_wait(&filled);
    pause();
    free(block[BLOCKS - 1]);
    return unused;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    mallopt(M_ARENA_MAX, threads + 1);
    pthread_barrier_init(&filled, NULL, (unsigned) threads + 1);
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, fill, NULL))
            return 1;
    }
    pthread_barrier_wait(&filled);
    pthread_barrier_wait(&filled);
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) {
        malloc_trim(0);
        puts("trimmed");
        fflush(stdout);
    }
    return 0;
}
