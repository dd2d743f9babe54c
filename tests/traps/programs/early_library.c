/* SPDX-License-Identifier: MIT */
/* early_library.c - allocates, frees, forks, starts a thread and registers exit handlers in its constructor, and frees
 * the rest in its destructor. */
#include <pthread.h>
#include <sys/wait.h>

#include "trap.h"

#define EARLY 500
void *early_block[EARLY];

static APART void *early_allocate(size_t bytes)
{
    return keep(malloc(bytes));
}

static void *allocate_in_thread(void *unused)
{
    (void) unused;
    for (int i = 0; i < 100; i++)
        free(early_allocate(10));
    return NULL;
}

static void at_exit(void)
{
}

/* libc allocates a table for every 32 handlers, and frees it during exit(). */
static APART void early_register(void)
{
    for (int i = 0; i < 200; i++)
        CHECK(atexit(at_exit) == 0);
}

__attribute__((constructor)) static void construct(void)
{
    int status;
    pthread_t thread;
    for (int i = 0; i < EARLY; i++)
        CHECK((early_block[i] = early_allocate((size_t) i + 1)) != NULL);
    CHECK(pthread_create(&thread, NULL, allocate_in_thread, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    pid_t child = fork();
    if (child == 0) {
        free(early_block[0]);
        free(early_allocate(100));
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    early_register();
}

__attribute__((destructor)) static void destruct(void)
{
    for (int i = 0; i < EARLY; i++)
        free(early_block[i]);
    free(early_allocate(100000));
}
