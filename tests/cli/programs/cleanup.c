/* SPDX-License-Identifier: MIT */
/*
 * cleanup.c - a cache that grows all the time, and a program that frees nearly everything before it ends.
 *
 * A fifth of the peak is kept: buffers from the start, which do not grow.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ENTRIES 1600
#define ENTRY_BYTES 2000
#define BUFFERS 8
#define BUFFER_BYTES 100000
#define PAUSE_NS 1000000

static void *entries[ENTRIES], *buffers[BUFFERS];

__attribute__((noinline)) void make_buffer(int i)
{
    buffers[i] = memset(malloc(BUFFER_BYTES), 1, BUFFER_BYTES);
}

__attribute__((noinline)) void cache_put(int i)
{
    entries[i] = memset(malloc(ENTRY_BYTES), 1, ENTRY_BYTES);
}

int main(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    for (int i = 0; i < BUFFERS; i++)
        make_buffer(i);
    for (int i = 0; i < ENTRIES; i++) {
        cache_put(i);
        nanosleep(&pause, NULL);
    }
    for (int i = 0; i < ENTRIES; i++)
        free(entries[i]);
    return buffers[0] == NULL;
}
