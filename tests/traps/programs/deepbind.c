/* SPDX-License-Identifier: MIT */
/* deepbind.c - exchanges blocks with a plugin that calls another malloc and free than the program. */
#include <dlfcn.h>

#include "trap.h"

#define BLOCKS 1000

static APART void *deepbind_allocate(void)
{
    return keep(malloc(100));
}

int main(int argc, char **argv)
{
    void *plugin = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_DEEPBIND), *block[BLOCKS];
    CHECK(plugin != NULL);
    void *(*allocate)(size_t) = (void *(*) (size_t)) dlsym(plugin, "plugin_allocate");
    void (*release)(void *) = (void (*)(void *)) dlsym(plugin, "plugin_free");
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < BLOCKS; i++)
            CHECK((block[i] = i % 2 ? allocate(100) : deepbind_allocate()) != NULL);
        for (int i = 0; i < BLOCKS; i++)
            i % 4 < 2 ? release(block[i]) : free(block[i]);
    }
    return 0;
}
