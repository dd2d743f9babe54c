/* SPDX-License-Identifier: MIT */
/*
 * loader.c - a second line behind the watched link_maps: modules that come and go by dlopen and dlclose.
 */
#include <dlfcn.h>
#include <link.h>

#include "compiler.h"
#include "find.h"
#include "next.h"
#include "process.h"
#include "snapshot.h"

static int read_unloads(struct dl_phdr_info *info, size_t bytes, void *out)
{
    if (bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *(unsigned long long *) out = info->dlpi_subs;
    return 1; /* the count is the same in every entry */
}

static unsigned long long unloads(void)
{
    unsigned long long n = 0;
    dl_iterate_phdr(read_unloads, &n);
    return n;
}

EXPORT int dlclose(void *handle);
int dlclose(void *handle)
{
    static int (*next)(void *);
    if (!load_relaxed(&next))
        store_relaxed(&next, (int (*)(void *)) pl_next_find("dlclose"));
    unsigned long long before = unloads();
    int result = load_relaxed(&next)(handle);
    if (unloads() != before) {
        pl_process_unloaded(pl_process);
        if (pl_module_find_needs_snapshot())
            pl_snapshot_refill();
    }
    return result;
}
