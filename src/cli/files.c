/* SPDX-License-Identifier: MIT */
/*
 * files.c - names of profiles, and files that appear complete or not at all.
 */
#include "cli/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/proc.h"
#include "format/settings.h"

/* --- names --- */

bool pl_files_is_directory(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISDIR(status.st_mode);
}

bool pl_files_has_suffix(const char *path)
{
    size_t bytes = strlen(path), suffix = strlen(PL_SUFFIX);
    return bytes > suffix && !strcmp(path + bytes - suffix, PL_SUFFIX);
}

char *pl_files_stem(const char *path)
{
    size_t bytes = strlen(path) - (pl_files_has_suffix(path) ? strlen(PL_SUFFIX) : 0);
    return pl_say_print("%.*s", (int) bytes, path);
}

bool pl_files_is_profile(const char *name)
{
    return name[0] != '.' && pl_files_has_suffix(name);
}

/* --- writing --- */

/* 0 or an errno. */
static int write_stream(const struct pl_files_content *content, FILE *out)
{
    if (!out)
        return errno;
    errno = 0;
    content->write(content->context, out);
    int error = !ferror(out) ? 0 : errno ? errno : EIO;
    return fclose(out) ? errno : error;
}

/* Writes a temporary file, and renames it to the path. */
static int replace(const struct pl_files_content *content, const char *path)
{
    char *temporary = pl_say_print("%s.%d.tmp", path, getpid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, content->mode);
    int error = fd < 0 ? errno : write_stream(content, fdopen(fd, "w"));
    if (!error && rename(temporary, path))
        error = errno;
    if (error && fd >= 0)
        unlink(temporary);
    free(temporary);
    return error;
}

/* A device, a pipe or a link is written to directly: renaming would replace /dev/null by a file. */
enum pl_exit pl_files_write(const struct pl_files_content *content, const char *path)
{
    struct pl_header header;
    struct stat status;
    if (pl_proc_header(path, &header))
        return pl_say_usage("--output %s is a profile; choose another name for %s", path, content->what);
    bool plain = lstat(path, &status) || S_ISREG(status.st_mode);
    int error = plain ? replace(content, path) : write_stream(content, fopen(path, "we"));
    return error ? pl_say_failure("cannot write %s: %s", path, strerror(error)) : PL_EXIT_OK;
}
