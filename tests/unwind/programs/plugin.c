/* SPDX-License-Identifier: MIT */
/*
 * plugin.c - is built twice with frames of different sizes, so that rules of one build are wrong for the other.
 */
#include <stdlib.h>

#ifndef FRAME_BYTES
#error "FRAME_BYTES: how large the frames are"
#endif

void *plugin_allocate(int n);

static __attribute__((noinline)) void *leaf(int n)
{
    volatile char block[FRAME_BYTES];
    block[n] = 1;
    void *result = malloc((size_t) n);
    block[1] = block[n];
    return result;
}

void *plugin_allocate(int n)
{
    volatile char block[64];
    block[3] = (char) n;
    void *result = leaf(n);
    block[4] = block[3];
    return result;
}
