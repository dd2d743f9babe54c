/* SPDX-License-Identifier: MIT */
/*
 * spaces.c - a library in its own loader namespace, with its own libc: dlmopen.
 *
 *   spaces LIBRARY FUNCTION [FUNCTION that gets a block]
 */
#include <dlfcn.h>

#include "../../traps/programs/trap.h"

static APART void *spaces_allocate(void)
{
    return keep(malloc(123));
}

static void *find(void *library, const char *name)
{
    void *function = dlsym(library, name);
    CHECK(function);
    return function;
}

static void give_block(void *library, const char *name)
{
    void (*function)(void *);
    *(void **) &function = find(library, name);
    function(spaces_allocate());
}

int main(int argc, char **argv)
{
    CHECK(argc == 3 || argc == 4);
    for (int round = 0; round < 3; round++) {
        void *library = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
        if (!library) {
            printf("%s\n", dlerror());
            return 1;
        }
        void (*function)(void);
        *(void **) &function = find(library, argv[2]);
        if (argc == 4)
            give_block(library, argv[3]);
        for (int i = 0; i < 100; i++) {
            function();
            free(spaces_allocate());
        }
        CHECK(dlclose(library) == 0);
    }
    printf("300 times\n");
    return 0;
}
