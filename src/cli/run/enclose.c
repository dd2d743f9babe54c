/* SPDX-License-Identifier: MIT */
/*
 * enclose.c - a mount namespace in which our glibc replaces the system's.
 *
 * Our loader and libc.so.6 are mounted over the system's, so every dynamic program in the namespace uses them.
 * Processes outside see no change, and the mounts disappear with the last process inside. A user who may not mount gets
 * that right in a user namespace, which maps only their own uid and gid, to themselves.
 */
#include "cli/run/enclose.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/say.h"

/* --- the system's files: those that our own process uses --- */

struct search {
    const char *prefix; /* of the file's name */
    char *path;
};

static int look_at(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct search *search = context;
    (void) bytes;
    if (*info->dlpi_name != '/' || strncmp(basename(info->dlpi_name), search->prefix, strlen(search->prefix)))
        return 0;
    search->path = realpath(info->dlpi_name, NULL);
    return search->path != NULL;
}

static char *find_own(const char *prefix)
{
    struct search search = {prefix, NULL};
    dl_iterate_phdr(look_at, &search);
    return search.path;
}

bool pl_enclose_plan(const struct pl_glibc *glibc, struct pl_enclosure *out)
{
    if (!pl_glibc_is_systems(glibc)) {
        pl_say("--glibc-tree cannot replace this system's glibc by another release (%s instead of %s); `make glibc "
               "RELEASE=%s` builds the right one, or use --glibc",
               glibc->release, gnu_get_libc_version(), gnu_get_libc_version());
        return false;
    }
    *out = (struct pl_enclosure){glibc, find_own("libc.so."), find_own("ld-linux")};
    bool found = out->libc && out->loader, ours = found && !strcmp(out->libc, glibc->libc);
    if (ours)
        pl_say("plimsoll itself runs with the glibc in %s, so it cannot find the system's; start it without --glibc",
               glibc->directory);
    else if (!found)
        pl_say("cannot find the system's libc.so.6 and its loader; use --glibc");
    if (!found || ours)
        pl_enclose_free(out);
    return found && !ours;
}

bool pl_enclose_covers(const char *loader)
{
    char *named = realpath(loader, NULL), *own = find_own("ld-linux");
    bool same = !named || !own || !strcmp(named, own); /* a missing loader is reported elsewhere */
    free(named);
    free(own);
    return same;
}

void pl_enclose_free(struct pl_enclosure *enclosure)
{
    free(enclosure->libc);
    free(enclosure->loader);
    *enclosure = (struct pl_enclosure){0};
}

/* --- the steps --- */

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t written = fd < 0 ? -1 : write(fd, text, strlen(text));
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return written >= 0;
}

static bool map_to_itself(const char *path, unsigned number)
{
    char line[64];
    snprintf(line, sizeof line, "%u %u 1", number, number);
    return write_file(path, line);
}

static bool become_oneself(unsigned user, unsigned group)
{
    return map_to_itself("/proc/self/uid_map", user) && write_file("/proc/self/setgroups", "deny") &&
           map_to_itself("/proc/self/gid_map", group);
}

static bool leave_namespace(const struct pl_enclosure *enclosure)
{
    (void) enclosure;
    unsigned user = geteuid(), group = getegid(); /* read now: in a new user namespace both are unmapped */
    return !unshare(CLONE_NEWNS) ||
           (errno == EPERM && !unshare(CLONE_NEWUSER | CLONE_NEWNS) && become_oneself(user, group));
}

/* Later mounts outside become visible inside, but not the other way round. */
static bool hide_mounts(const struct pl_enclosure *enclosure)
{
    (void) enclosure;
    return !mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL);
}

/* The flags of a mount that must be kept: the kernel does not let a user namespace drop them. */
static unsigned long flags_of(const char *path)
{
    static const struct {
        unsigned long have, want;
    } kept[] = {{ST_NOSUID, MS_NOSUID},   {ST_NODEV, MS_NODEV},           {ST_NOEXEC, MS_NOEXEC},
                {ST_NOATIME, MS_NOATIME}, {ST_NODIRATIME, MS_NODIRATIME}, {ST_RELATIME, MS_RELATIME}};
    struct statvfs status;
    unsigned long flags = 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept && !statvfs(path, &status); i++)
        flags |= status.f_flag & kept[i].have ? kept[i].want : 0;
    return flags;
}

/* Read-only, so that a system upgrade inside the namespace does not write to our files. */
static bool put_over(const char *ours, const char *systems)
{
    return !mount(ours, systems, NULL, MS_BIND, NULL) &&
           !mount("none", systems, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags_of(systems), NULL);
}

static bool put_libc(const struct pl_enclosure *enclosure)
{
    return put_over(enclosure->glibc->libc, enclosure->libc);
}

static bool put_loader(const struct pl_enclosure *enclosure)
{
    return put_over(enclosure->glibc->loader, enclosure->loader);
}

static const struct {
    bool (*take)(const struct pl_enclosure *enclosure);
    const char *what;
} steps[] = {
    {leave_namespace, "creating a namespace"},
    {hide_mounts, "making mounts private"},
    {put_libc, "the mount over libc.so.6"},
    {put_loader, "the mount over the loader"},
};

int pl_enclose_enter(const struct pl_enclosure *enclosure)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (!steps[i].take(enclosure))
            return (int) i + 1;
    return 0;
}

void pl_enclose_complain(const struct pl_enclosure *enclosure, int step, int error)
{
    pl_say("cannot mount %s over %s: %s: %s; --glibc needs no namespace, but profiles only the program itself",
           enclosure->glibc->libraries, enclosure->libc, steps[step - 1].what, strerror(error));
}
