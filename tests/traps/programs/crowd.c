/* SPDX-License-Identifier: MIT */
/*
 * crowd.c - allocates from more stacks than a small profile has room for. Then it starts more threads than the profile
 * has records for. The threads free each other's blocks.
 */
#include <pthread.h>

#include "../../lib/turns.h"
#include "trap.h"

#define STACKS 3000
#define THREADS 150
#define ROUNDS 300

static pthread_barrier_t all_here;
static void *shared[THREADS];

static void allocate(void *unused)
{
    (void) unused;
    free(keep(malloc(100)));
}

static APART void *crowd_allocate(void)
{
    return keep(malloc(60));
}

static void *work(void *number)
{
    pthread_barrier_wait(&all_here);
    for (long i = 0; i < ROUNDS; i++)
        free(__atomic_exchange_n(&shared[(i * 7 + (long) number) % THREADS], crowd_allocate(), __ATOMIC_ACQ_REL));
    pthread_barrier_wait(&all_here);
    return NULL;
}

int main(void)
{
    static pthread_t thread[THREADS];
    for (unsigned i = 0; i < STACKS; i++)
        descend(i, 12, allocate, NULL);
    CHECK(pthread_barrier_init(&all_here, NULL, THREADS) == 0);
    for (long i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, work, (void *) i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        free(shared[i]);
    return 0;
}
