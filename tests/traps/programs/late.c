/* SPDX-License-Identifier: MIT */
/* late.c - ends before its library does. Meanwhile threads go on allocating from new stacks. */
#include <pthread.h>

#include "../../lib/turns.h"
#include "trap.h"

void late_library(void);

static void late_allocate(void *unused)
{
    (void) unused;
    free(keep(malloc(100)));
}

static void *work(void *number)
{
    for (unsigned i = 0;; i++)
        descend(i * 4 + (unsigned) (long) number, 14, late_allocate, NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    late_library();
    for (long i = 0; i < 4 && argc > 1; i++)
        CHECK(pthread_create(&thread, NULL, work, (void *) i) == 0);
    if (argc > 1)
        usleep((useconds_t) atoi(argv[1]));
    return 0;
}
