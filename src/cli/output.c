/* SPDX-License-Identifier: MIT */
/*
 * output.c - a file that appears whole or not at all.
 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc.h"

/* 0 or an errno. */
static int write_stream(const struct pl_output *output, FILE *out)
{
    if (!out)
        return errno;
    errno = 0;
    output->write(output->context, out);
    int error = !ferror(out) ? 0 : errno ? errno : EIO;
    return fclose(out) ? errno : error;
}

/* Into a temporary file that then takes the name. */
static int replace(const struct pl_output *output, const char *path)
{
    char *temporary = pl_say_print("%s.%d.tmp", path, getpid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, output->mode);
    int error = fd < 0 ? errno : write_stream(output, fdopen(fd, "w"));
    if (!error && rename(temporary, path))
        error = errno;
    if (error && fd >= 0)
        unlink(temporary);
    free(temporary);
    return error;
}

/* A device, a pipe or a link is written to as it is: to replace /dev/full by a file would be somebody's bad day. */
enum pl_exit pl_output_write(const struct pl_output *output, const char *path)
{
    struct pl_header header;
    struct stat status;
    if (pl_proc_header(path, &header))
        return pl_say_usage("--output %s is a profile; choose another name for %s", path, output->what);
    bool plain = lstat(path, &status) || S_ISREG(status.st_mode);
    int error = plain ? replace(output, path) : write_stream(output, fopen(path, "we"));
    return error ? pl_say_failure("cannot write %s: %s", path, strerror(error)) : PL_EXIT_OK;
}
