/* SPDX-License-Identifier: MIT */
/*
 * move.c - moves a finished profile to its destination.
 *
 * Live profiles are on tmpfs and destinations mostly are not, so moving mostly means copying: into a temporary file
 * beside the destination, which is then renamed. Other processes see the old file or the complete new one.
 */
#include "cli/run/move.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/proc.h"
#include "cli/say.h"

#define ATTEMPTS_MAX 10000

/* The process makes the file as large as it may become; bytes after the last chunk in use were never written. */
static off_t used_bytes(int fd)
{
    struct pl_header header;
    struct stat status;
    if (fstat(fd, &status))
        return 0;
    if (pread(fd, &header, sizeof header, 0) != (ssize_t) sizeof header || header.chunks > PL_CHUNKS_MAX)
        return status.st_size;
    off_t used = (off_t) pl_chunk_offset((uint32_t) header.chunks);
    return used < status.st_size ? used : status.st_size;
}

static bool copy_bytes(int from, int to)
{
    off_t bytes = used_bytes(from);
    for (off_t at = 0; at < bytes;) {
        ssize_t sent = sendfile(to, from, &at, (size_t) (bytes - at));
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0) {
            errno = sent ? errno : EIO;
            return false;
        }
    }
    return true;
}

static bool copy_beside(int from, const char *to)
{
    char *temporary = pl_say_print("%s.XXXXXX", to);
    int fd = mkostemp(temporary, O_CLOEXEC); /* mode 0600 */
    bool done = fd >= 0 && copy_bytes(from, fd);
    if (fd >= 0 && close(fd)) /* quotas and network file systems report errors here */
        done = false;
    done = done && !rename(temporary, to);
    int error = errno;
    if (!done && fd >= 0)
        unlink(temporary);
    free(temporary);
    errno = error;
    return done;
}

static bool copy(const char *from, const char *to)
{
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool done = copy_beside(fd, to);
    int error = errno;
    close(fd);
    if (done)
        unlink(from);
    errno = error;
    return done;
}

/* After a rename: cuts off the end that was never written. If that fails, the profile is only larger than it looks. */
static void trim(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, used_bytes(fd)))
        errno = 0;
    if (fd >= 0)
        close(fd);
}

static bool rename_trimmed(const char *from, const char *to)
{
    if (rename(from, to))
        return false;
    trim(to);
    return true;
}

static bool is_taken(const char *path, const struct pl_move_taken *taken)
{
    for (size_t i = 0; i < taken->count; i++)
        if (!strcmp(taken->path[i], path))
            return true;
    return false;
}

static bool in_the_way(const char *path, const struct pl_move_taken *taken)
{
    struct stat status;
    struct pl_header header;
    if (lstat(path, &status))
        return false; /* it does not exist; or we cannot see it, and moving will fail */
    if (!S_ISREG(status.st_mode) || is_taken(path, taken) || !pl_proc_header(path, &header) ||
        header.flags & PL_FLAG_SNAPSHOT)
        return true;
    struct pl_proc_table table = {0};
    pid_t writer = pl_proc_writer(&table, path, &header);
    pl_proc_free(&table);
    return writer != 0;
}

static void take(struct pl_move_taken *taken, const char *path)
{
    taken->path = pl_say_memory(realloc(taken->path, (taken->count + 1) * sizeof *taken->path));
    taken->path[taken->count++] = pl_say_print("%s", path);
}

char *pl_move(const char *from, const char *to, struct pl_move_taken *taken)
{
    for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        char *path = attempt ? pl_say_print("%s.%d", to, attempt) : pl_say_print("%s", to);
        if (!in_the_way(path, taken)) {
            bool done = rename_trimmed(from, path) || (errno == EXDEV && copy(from, path));
            if (done) {
                take(taken, path);
                return path;
            }
            int error = errno;
            free(path);
            errno = error;
            return NULL;
        }
        free(path);
    }
    errno = EEXIST;
    return NULL;
}

void pl_move_free(struct pl_move_taken *taken)
{
    for (size_t i = 0; i < taken->count; i++)
        free(taken->path[i]);
    free(taken->path);
}
