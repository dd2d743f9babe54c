/* SPDX-License-Identifier: MIT */
/*
 * oom.c - see oom.h.
 *
 * The kernel counts such kills: for each cgroup (memory.events in version 2, memory.oom_control in version 1) and for
 * the machine (/proc/vmstat). We read the counters before and after the program runs. A program that reached the limit
 * of its cgroup is suspect too, if the counters cannot be read: it may have run in a cgroup of its own.
 */
#include "cli/run/oom.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "cli/say.h"
#include "format/settings.h"

#define REACHED 0.95 /* of the limit */

/* The number after `word` and a blank at the start of a line; with an empty word, the first number of the file. */
static bool read_number(const char *path, const char *word, uint64_t *out)
{
    char line[256];
    size_t bytes = strlen(word);
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = !strncmp(line, word, bytes) && (!bytes || line[bytes] == ' ') &&
                sscanf(line + bytes, " %" SCNu64, out) == 1;
    if (file)
        fclose(file);
    return found;
}

/* The files of a version of cgroups. */
static const struct version {
    const char *controller; /* in /proc/self/cgroup; "" in version 2 */
    const char *mount;
    const char *events, *limit, *usage;
} versions[] = {
    {"", "/sys/fs/cgroup", "memory.events", "memory.max", "memory.peak"},
    {"memory", "/sys/fs/cgroup/memory", "memory.oom_control", "memory.limit_in_bytes", "memory.max_usage_in_bytes"},
};

/* "4:memory:/user/one" names the cgroup of version 1, "0::/user/one" that of version 2. */
static bool find_path(const char *root, const char *controller, char path[PATH_MAX])
{
    char name[PATH_MAX], line[PATH_MAX + 128];
    bool found = false;
    snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
    FILE *file = fopen(name, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *list = strchr(line, ':'), *where = list ? strchr(list + 1, ':') : NULL;
        if (!where)
            continue;
        *where++ = 0;
        where[strcspn(where, "\n")] = 0;
        found = !strcmp(list + 1, controller) && snprintf(path, PATH_MAX, "%s", where) < PATH_MAX;
    }
    if (file)
        fclose(file);
    return found;
}

/* Inside a container, the path may be that outside of it: then the root of the mount is our cgroup, or above it. */
static void read_cgroup(struct pl_oom *oom, const char *root, const struct version *version, char *path)
{
    for (;;) {
        char name[3 * PATH_MAX];
        uint64_t limit;
        snprintf(name, sizeof name, "%s%s%s/%s", root, version->mount, path, version->limit);
        if (read_number(name, "", &limit) && limit < PL_MEMORY_NO_LIMIT &&
            (!oom->limit_bytes || limit < oom->limit_bytes)) {
            oom->limit_bytes = limit;
            snprintf(name, sizeof name, "%s%s%s/%s", root, version->mount, path, version->usage);
            if (!read_number(name, "", &oom->usage_bytes))
                oom->usage_bytes = 0;
        }
        snprintf(name, sizeof name, "%s%s%s/%s", root, version->mount, path, version->events);
        if (!oom->cgroup_known)
            oom->cgroup_known = read_number(name, "oom_kill", &oom->cgroup_kills);
        char *slash = strrchr(path, '/');
        if (!slash)
            return;
        *slash = 0;
    }
}

struct pl_oom pl_oom_read(const char *root)
{
    struct pl_oom oom = {0};
    char path[PATH_MAX], name[PATH_MAX];
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (find_path(root, versions[i].controller, path))
            read_cgroup(&oom, root, &versions[i], path);
    snprintf(name, sizeof name, "%s/proc/vmstat", root);
    oom.machine_known = read_number(name, "oom_kill", &oom.machine_kills);
    return oom;
}

char *pl_oom_why(const struct pl_oom *before, const struct pl_oom *after, uint64_t rss_bytes)
{
    bool in_cgroup = before->cgroup_known && after->cgroup_known && after->cgroup_kills > before->cgroup_kills;
    bool counted = before->machine_known && after->machine_known; /* kills in cgroups too */
    bool any = counted && after->machine_kills > before->machine_kills;
    bool somewhere = any && !after->cgroup_known; /* if it is known and has not changed, it was another process */
    bool reached = after->limit_bytes && (double) rss_bytes >= REACHED * (double) after->limit_bytes;
    char limit[PL_FIGURE_BYTES], rss[PL_FIGURE_BYTES], usage[PL_FIGURE_BYTES];
    if (!in_cgroup && !somewhere && !(reached && (any || !counted)))
        return NULL;
    pl_figure_bytes(limit, (double) after->limit_bytes);
    pl_figure_bytes(rss, (double) rss_bytes);
    pl_figure_bytes(usage, (double) after->usage_bytes);
    if (after->limit_bytes && (in_cgroup || reached))
        return pl_say_print("probably out of memory (OOM killer): cgroup limit %s%s%s, RSS at most %s", limit,
                            after->usage_bytes ? ", usage at most " : "", after->usage_bytes ? usage : "", rss);
    return pl_say_print("probably out of memory (OOM killer): the kernel killed a process for that reason meanwhile; "
                        "RSS at most %s",
                        rss);
}
