/* SPDX-License-Identifier: MIT */
/*
 * handover.c - see handover.h.
 *
 * In another mount namespace, the library is copied to a place below /proc/PID/root that the process can read: its
 * /dev/shm, /tmp or /run. The copy is removed as soon as the process has mapped it. A symbolic link
 * in such a place must not lead root to a directory of ours.
 */
#include "cli/attach/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "reader/symbols/symbolize.h"

#define HANDOVER_MODE 0755

static bool sees_same_file(pid_t pid, const char *library)
{
    char there[PATH_MAX];
    struct stat ours, theirs;
    int bytes = snprintf(there, sizeof there, "/proc/%d/root%s", pid, library);
    return bytes > 0 && (size_t) bytes < sizeof there && !stat(library, &ours) && !stat(there, &theirs) &&
           ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

static const char *name_of(const struct pl_handover *handover)
{
    return strrchr(handover->path, '/') + 1;
}

static bool copy(const char *from, int directory, const char *to)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = in >= 0 ? openat(directory, to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, HANDOVER_MODE) : -1;
    struct stat status;
    bool good = out >= 0 && !fstat(in, &status);
    for (off_t done = 0; good && done < status.st_size;)
        good = sendfile(out, in, &done, (size_t) (status.st_size - done)) > 0;
    good = good && !fchmod(out, HANDOVER_MODE);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    if (out >= 0 && !good)
        unlinkat(directory, to, 0);
    return good;
}

static bool may_map_code(int directory)
{
    struct statvfs status;
    return !fstatvfs(directory, &status) && !(status.f_flag & ST_NOEXEC);
}

static bool copy_below(struct pl_handover *out, pid_t pid, const char *library, const char *place)
{
    char root[64];
    snprintf(root, sizeof root, "/proc/%d/root", pid);
    snprintf(out->path, sizeof out->path, "%s/libplimsoll-attach.%d.%d.so", place, getpid(), pid);
    out->directory = pl_binary_open_below(root, *place ? place : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (out->directory >= 0 && may_map_code(out->directory) && copy(library, out->directory, name_of(out)))
        return true;
    if (out->directory >= 0)
        close(out->directory);
    out->directory = -1;
    return false;
}

bool pl_handover_make(struct pl_handover *out, pid_t pid, const char *library, char why[PL_OBSTACLES_BYTES])
{
    static const char *const places[] = {"/tmp", "/run", "/var/tmp", "/dev/shm", ""};
    *out = (struct pl_handover){.directory = -1};
    if (sees_same_file(pid, library)) {
        snprintf(out->path, sizeof out->path, "%s", library);
        return true;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (copy_below(out, pid, library, places[i]))
            return true;
    snprintf(why, PL_OBSTACLES_BYTES,
             "it sees other files than we do (a container), and there is no directory below /proc/%d/root where its "
             "copy of the profiler could go and be executed",
             pid);
    return false;
}

void pl_handover_end(struct pl_handover *handover)
{
    if (handover->directory < 0)
        return;
    unlinkat(handover->directory, name_of(handover), 0);
    close(handover->directory);
    handover->directory = -1;
}
