/* SPDX-License-Identifier: MIT */
/*
 * hand_over.c - threads that free and allocate the same few addresses as fast as they can. If a free were written down
 * after the real one, another thread would have the address by then, and one of the two records would be lost.
 */
#include <pthread.h>

#include "trap.h"

#define THREADS 4
#define ROUNDS 20000

static void *shared[4];

static NOINLINE void *hand_over_allocate(void)
{
    return keep(malloc(2000)); /* not kept for the thread itself by glibc's tcache */
}

static void *work(void *number)
{
    for (int i = 0; i < ROUNDS; i++)
        free(__atomic_exchange_n(&shared[(i + (long) number) % 4], hand_over_allocate(), __ATOMIC_ACQ_REL));
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    for (long i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, work, (void *) i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    return 0;
}
