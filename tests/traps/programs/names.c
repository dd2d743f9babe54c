/* SPDX-License-Identifier: MIT */
/*
 * names.c - threads that get their names after they have begun to allocate: from themselves, by prctl, from the thread
 * that started them; and a thread that still exists when the process ends.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>

#include "trap.h"

static sem_t begun, named;

static void allocate(void)
{
    free(keep(malloc(100)));
}

static void *name_self(void *unused)
{
    allocate();
    CHECK(pthread_setname_np(pthread_self(), "by-itself") == 0);
    return unused;
}

static void *name_by_prctl(void *unused)
{
    allocate();
    CHECK(prctl(PR_SET_NAME, "by-prctl-with-a-long-name") == 0);
    allocate();
    return unused;
}

static void *wait_for_name(void *unused)
{
    allocate();
    sem_post(&begun);
    sem_wait(&named);
    return unused;
}

static void *stay(void *unused)
{
    allocate();
    sem_post(&begun);
    for (;;)
        pause();
    return unused;
}

static void run(void *(*body)(void *) )
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

int main(void)
{
    pthread_t thread;
    sem_init(&begun, 0, 0);
    sem_init(&named, 0, 0);
    allocate();
    run(name_self);
    run(name_by_prctl);
    CHECK(pthread_create(&thread, NULL, wait_for_name, NULL) == 0 && sem_wait(&begun) == 0);
    CHECK(pthread_setname_np(thread, "by-parent") == 0);
    sem_post(&named);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, stay, NULL) == 0 && sem_wait(&begun) == 0);
    CHECK(pthread_setname_np(thread, "still-there") == 0);
    CHECK(pthread_setname_np(thread, "this name is far too long") != 0);
    return 0;
}
