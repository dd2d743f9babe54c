/* SPDX-License-Identifier: MIT */
/*
 * plugins.c - loads one module after the other, allocates from it and unloads it, so that they use the same address.
 *
 *   plugins LEDGER ROUNDS ONE.so TWO.so
 *
 * Blocks outlive their modules. Prints how often a module was loaded at the address of another.
 */
#include "../../lib/patience.h"
#include "ledger.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SITES(X) X(plugin_one) X(plugin_two)
LEDGER_DECLARE(SITES);

#define PER_LOAD 7

static void *last[SITE_COUNT];
static unsigned same_place;

static void use(const char *path, unsigned site, size_t round)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *(*make)(size_t) = plugin ? (void *(*) (size_t)) dlsym(plugin, "plugin_make") : NULL;
    Dl_info info;
    if (!make || !dladdr((void *) make, &info))
        _exit(7);
    same_place += last[!site] == info.dli_fbase;
    last[site] = info.dli_fbase;
    struct block blocks[PER_LOAD];
    for (size_t i = 0; i < PER_LOAD; i++)
        blocks[i] = LEDGER_ALLOCATE(site, 1 + round % 90 + i, make(1 + round % 90 + i));
    for (size_t i = 0; i < 3; i++)
        ledger_free(blocks[i]);
    dlclose(plugin);
    for (size_t i = 3; i < 6; i++)
        ledger_free(blocks[i]);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    alarm(PATIENCE_S);
    ledger_open(argv[1], site_names, SITE_COUNT);
    for (size_t round = 0; round < strtoul(argv[2], NULL, 10); round++) {
        use(argv[3], SITE_plugin_one, round);
        use(argv[4], SITE_plugin_two, round);
    }
    dprintf(1, "%u\n", same_place);
    return 0;
}
