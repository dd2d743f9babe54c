/* SPDX-License-Identifier: MIT */
/*
 * place.c - tells whether /dev/shm is a good place for live profiles.
 *
 * It usually is: stores into a mapped file on disk can wait for the disk, those into tmpfs cannot. But in a container
 * it is small, disappears with the container, and counts towards the memory limit, as it does for any cgroup that has
 * one: there a profile would bring an out-of-memory kill nearer, and be lost in it. The runtime decides by the same
 * facts where there is no `plimsoll run` (core/process.c).
 */
#include "cli/run/place.h"

#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "analysis/figure.h"
#include "cli/run/oom.h"
#include "cli/say.h"
#include "format/settings.h"

/* What marks a container: a file, or a variable. NULL: none. The caller frees it. */
static char *find_mark(const char *root)
{
    static const char *const files[] = {"/.dockerenv", "/run/.containerenv"};
    static const char *const variables[] = {PL_CONTAINER_VARIABLE, PL_KUBERNETES_VARIABLE};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = pl_say_print("%s%s", root, files[i]);
        bool exists = access(path, F_OK) == 0;
        free(path);
        if (exists)
            return pl_say_print("%s", files[i]);
    }
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]))
            return pl_say_print("$%s", variables[i]);
    return NULL;
}

static char *find_small(const char *root)
{
    struct statvfs space;
    char size[PL_FIGURE_BYTES], *path = pl_say_print("%s" PL_SHM, root);
    int error = statvfs(path, &space);
    free(path);
    uint64_t bytes = error ? 0 : (uint64_t) space.f_blocks * space.f_frsize;
    if (!bytes || bytes >= PL_SHM_SMALL)
        return NULL;
    pl_figure_bytes(size, (double) bytes);
    return pl_say_print(PL_SHM " has only %s", size);
}

static char *find_limit(const char *root)
{
    char size[PL_FIGURE_BYTES];
    struct pl_oom oom = pl_oom_read(root);
    if (!oom.limit_bytes)
        return NULL;
    pl_figure_bytes(size, (double) oom.limit_bytes);
    return pl_say_print(PL_SHM " counts towards the memory limit of %s here", size);
}

char *pl_place_why(const char *root)
{
    char *mark = find_mark(root);
    char *why = mark ? pl_say_print("this is a container (%s), and its " PL_SHM " is lost with it", mark) : NULL;
    free(mark);
    if (!why)
        why = find_small(root);
    return why ? why : find_limit(root);
}
