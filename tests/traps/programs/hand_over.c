/* SPDX-License-Identifier: MIT */
/*
 * hand_over.c - threads that free and allocate the same few addresses as fast as possible. If a free were recorded
 * after the real free, another thread could have the address by then, and one of the two records would be lost.
 *
 * The allocator should make an address available at once and return from free() a little later, as reentrant.c does.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "trap.h"

#define THREADS 4
#define ROUNDS 20000

static void *shared[4];

static APART void *hand_over_allocate(void)
{
    return keep(malloc(500));
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
    int *lingers = dlsym(RTLD_DEFAULT, "reentrant_lingers");
    if (lingers)
        *lingers = 1;
    for (long i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, work, (void *) i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    return 0;
}
