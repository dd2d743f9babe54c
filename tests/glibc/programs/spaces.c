/* SPDX-License-Identifier: MIT */
/*
 * spaces.c - a library in a name space of the loader's own, with a libc of its own: dlmopen.
 *
 *   spaces LIBRARY FUNCTION
 */
#include <dlfcn.h>

#include "../../traps/programs/trap.h"

static NOINLINE void *spaces_allocate(void)
{
    return keep(malloc(123));
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    for (int round = 0; round < 3; round++) {
        void *library = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
        if (!library) {
            printf("%s\n", dlerror());
            return 1;
        }
        void (*function)(void);
        *(void **) &function = dlsym(library, argv[2]);
        CHECK(function);
        for (int i = 0; i < 100; i++) {
            function();
            free(spaces_allocate());
        }
        CHECK(dlclose(library) == 0);
    }
    printf("300 times\n");
    return 0;
}
