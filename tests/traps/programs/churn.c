/* SPDX-License-Identifier: MIT */
/*
 * churn.c - starts THREADS short threads, a few at a time, each of which allocates ten blocks of 50 bytes and ends.
 *
 *   churn THREADS [names]     with names, every thread has a different one
 *
 * Prints how many KiB are resident at the end.
 */
#include <pthread.h>
#include <sys/prctl.h>

#include "trap.h"

#define AT_ONCE 4
#define CALLS 10
#define BYTES 50

static int named;

static APART void *churn_allocate(void)
{
    return keep(malloc(BYTES));
}

static void *work(void *number)
{
    char name[16];
    if (named) {
        snprintf(name, sizeof name, "churn-%ld", (long) number);
        prctl(PR_SET_NAME, name);
    }
    for (int i = 0; i < CALLS; i++)
        free(churn_allocate());
    return NULL;
}

int main(int argc, char **argv)
{
    long threads = argc > 1 ? atol(argv[1]) : 100;
    named = argc > 2;
    for (long i = 0; i < threads; i += AT_ONCE) {
        pthread_t thread[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++)
            CHECK(pthread_create(&thread[k], NULL, work, (void *) (i + k)) == 0);
        for (int k = 0; k < AT_ONCE; k++)
            CHECK(pthread_join(thread[k], NULL) == 0);
    }
    printf("%ld\n", resident_kib());
    return 0;
}
