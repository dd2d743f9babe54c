/* SPDX-License-Identifier: MIT */
/*
 * enclose.c - a mount namespace in which a glibc of ours is the system's.
 *
 * Two files are mounted over two others, so every dynamic program finds our loader at the path that it names and our
 * libc.so.6 where its loader looks; nobody else sees any of it, and it is gone with the last process in there. Who may
 * not mount gets the right to by a user namespace, in which he is who he was and nobody else exists.
 */
#include "enclose.h"

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

#include "say.h"

/* --- the system's files: those that we run with ourselves --- */

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
        pl_say("--glibc-tree puts glibc %s in the place of this system's %s, and they do not mix; `make glibc "
               "RELEASE=%s` builds the right one, or use --glibc",
               glibc->release, gnu_get_libc_version(), gnu_get_libc_version());
        return false;
    }
    *out = (struct pl_enclosure){glibc, find_own("libc.so."), find_own("ld-linux")};
    bool found = out->libc && out->loader, ours = found && !strcmp(out->libc, glibc->libc);
    if (ours)
        pl_say("plimsoll itself runs with the glibc in %s, so it cannot tell the system's; start it without --glibc",
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
    bool same = !named || !own || !strcmp(named, own); /* what is not there fails otherwise */
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

/* --- step by step --- */

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
    unsigned user = geteuid(), group = getegid(); /* which are nobody's as soon as we are in another namespace */
    return !unshare(CLONE_NEWNS) ||
           (errno == EPERM && !unshare(CLONE_NEWUSER | CLONE_NEWNS) && become_oneself(user, group));
}

/* What is mounted outside later is to be seen in here, too, but nothing that is done in here from outside. */
static bool hide_mounts(const struct pl_enclosure *enclosure)
{
    (void) enclosure;
    return !mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL);
}

/* Flags of a mount that a user namespace must not drop. */
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

/* Read-only, so that who upgrades the system in here does not write to our files. */
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
    {leave_namespace, "a namespace of its own"},
    {hide_mounts, "mounts of its own"},
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
    pl_say("cannot put %s in the place of %s: %s: %s; --glibc needs no namespace, and profiles the program alone",
           enclosure->glibc->libraries, enclosure->libc, steps[step - 1].what, strerror(error));
}
