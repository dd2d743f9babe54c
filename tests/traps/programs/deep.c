/* SPDX-License-Identifier: MIT */
/* deep.c - allocates below 100,000 frames, on the way down and on the way up, in main and in a thread. */
#include <pthread.h>
#include <sys/resource.h>

#include "trap.h"

#define DEPTH 100000

static APART void *deep_allocate(void)
{
    return keep(malloc(64));
}

static APART int descend(int left)
{
    void *block = left % 5000 == 0 ? deep_allocate() : NULL;
    int below = left ? descend(left - 1) : 0;
    free(block);
    __asm__ volatile("");
    return below + 1;
}

static void *work(void *unused)
{
    CHECK(descend(DEPTH) == DEPTH + 1);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 64 << 20) == 0);
    CHECK(pthread_create(&thread, &attributes, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
    work(NULL);
    return 0;
}
