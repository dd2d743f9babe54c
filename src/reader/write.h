/* SPDX-License-Identifier: MIT */
/*
 * write.h - bytes at a place of a file: all of them, or an error.
 */
#ifndef PL_WRITE_H
#define PL_WRITE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* 0 or a negative errno. */
static inline int pl_write_at(int fd, uint64_t offset, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t wrote = pwrite(fd, (const char *) data + done, bytes - done, (off_t) (offset + done));
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return wrote < 0 ? -errno : -EIO;
        done += (size_t) wrote;
    }
    return 0;
}

#endif
