/* SPDX-License-Identifier: MIT */
/*
 * goodbye.c - threads that allocate and free while they end: in the destructors of their keys, in every round of
 * destructors, also blocks that another thread allocated.
 */
#include <pthread.h>

#include "trap.h"

#define THREADS 20
#define ROUNDS 4 /* PTHREAD_DESTRUCTOR_ITERATIONS */

static pthread_key_t key[3];
static int rounds_seen;

struct last {
    int rounds;
    void *block;
};

static APART void *goodbye_allocate(size_t bytes)
{
    return keep(malloc(bytes));
}

/* Sets its key again, so that it is called in the next round, until the rounds are over. */
static void end(void *value)
{
    struct last *last = value;
    free(last->block);
    last->block = goodbye_allocate(100);
    __atomic_add_fetch(&rounds_seen, 1, __ATOMIC_RELAXED);
    if (++last->rounds < ROUNDS) {
        pthread_setspecific(key[0], last);
        return;
    }
    free(last->block);
    free(last);
}

static void end_plainly(void *block)
{
    free(goodbye_allocate(10));
    free(block);
}

static void *work(void *from_main)
{
    struct last *last = goodbye_allocate(sizeof *last);
    *last = (struct last){0, goodbye_allocate(100)};
    CHECK(pthread_setspecific(key[0], last) == 0);
    CHECK(pthread_setspecific(key[1], goodbye_allocate(30)) == 0);
    CHECK(pthread_setspecific(key[2], from_main) == 0);
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    CHECK(pthread_key_create(&key[0], end) == 0);
    CHECK(pthread_key_create(&key[1], end_plainly) == 0);
    CHECK(pthread_key_create(&key[2], free) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, work, goodbye_allocate(20)) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    CHECK(rounds_seen == THREADS * ROUNDS);
    return 0;
}
