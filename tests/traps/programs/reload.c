/* SPDX-License-Identifier: MIT */
/*
 * reload.c - loads, calls and unloads plugins in turn. With several plugins it prints whether each was loaded at the
 * address of the one before. (A plugin with libraries of its own may be loaded anywhere.)
 *
 *   reload ROUNDS LIBRARY...
 */
#include <dlfcn.h>
#include <link.h>

#include "trap.h"

int main(int argc, char **argv)
{
    ElfW(Addr) before = 0;
    int same = 0, rounds = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < rounds; i++) {
        struct link_map *map = dlopen(argv[2 + i % (argc - 2)], RTLD_NOW);
        CHECK(map != NULL);
        void *(*call)(void) = (void *(*) (void) ) dlsym(map, "plugin_call");
        CHECK(call != NULL);
        for (int k = 0; k < 10; k++)
            free(call());
        same += map->l_addr == before;
        before = map->l_addr;
        CHECK(dlclose(map) == 0);
    }
    if (argc > 3)
        printf("%s\n", same == rounds - 1 ? "all at the same address" : "here and there");
    return 0;
}
