/* SPDX-License-Identifier: MIT */
/*
 * opened.c - loads the given libraries with dlopen(), one after the other, and allocates in between, in old and new
 * threads.
 *
 *   opened LIBRARY...
 */
#include <dlfcn.h>
#include <pthread.h>

#include "trap.h"

static __thread char much[1024]; /* takes much of the room for thread-local storage */

static void *allocate(void *unused)
{
    much[0] = 1;
    for (int i = 0; i < 100; i++)
        free(keep(malloc(100)));
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    for (int i = 1; i < argc; i++) {
        void *handle = dlopen(argv[i], RTLD_NOW | (i % 2 ? RTLD_LOCAL : RTLD_GLOBAL));
        if (!handle)
            dprintf(2, "%s\n", dlerror());
        CHECK(handle != NULL);
        allocate(NULL);
        CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0 && pthread_join(thread, NULL) == 0);
        CHECK(dlclose(handle) == 0);
        allocate(NULL);
    }
    return 0;
}
