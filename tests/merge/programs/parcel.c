/* SPDX-License-Identifier: MIT */
/*
 * parcel.c - makes a given number of allocations: `parcel BLOCKS [wait]`.
 *
 * It keeps BLOCKS blocks of 100 bytes under the tag "load/keep". A thread named "worker" allocates as many of 40 bytes
 * and frees them at once. A table grows by realloc to 8 bytes for each. With `wait` it prints "up" and goes on when its
 * input ends. It is built twice: with PARCEL_LATER some functions have other addresses.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plimsoll.h"

static void *volatile sink;
static int blocks;

#ifdef PARCEL_LATER
__attribute__((noinline)) void another(void);
__attribute__((noinline)) void another(void)
{
    sink = &blocks;
    sink = NULL;
}
#endif

__attribute__((noinline)) static void keep(void)
{
    plimsoll_push("load");
    plimsoll_push("keep");
    void **last = NULL;
    for (int i = 0; i < blocks; i++) {
        void **block = malloc(100);
        *block = (void *) last;
        last = block;
        sink = block;
    }
    plimsoll_pop();
    plimsoll_pop();
}

__attribute__((noinline)) static void grow(void)
{
    char *table = NULL;
    for (int i = 1; i <= 8; i++) {
        table = realloc(table, (size_t) (blocks * i));
        sink = table;
    }
    free(table);
}

static void *work(void *unused)
{
    pthread_setname_np(pthread_self(), "worker");
    for (int i = 0; i < blocks; i++) {
        sink = malloc(40);
        free(sink);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t worker;
    char line[16];
    blocks = argc > 1 ? atoi(argv[1]) : 100;
    keep();
    grow();
    pthread_create(&worker, NULL, work, NULL);
    pthread_join(worker, NULL);
    if (argc > 2) {
        puts("up");
        fflush(stdout);
        while (fgets(line, sizeof line, stdin))
            ;
    }
    return 0;
}
