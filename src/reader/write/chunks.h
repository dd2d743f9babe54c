/* SPDX-License-Identifier: MIT */
/*
 * chunks.h - writes records to a file as chunks, after the existing ones.
 */
#ifndef PL_CHUNKS_H
#define PL_CHUNKS_H

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "format/format.h"

struct pl_chunks {
    int fd;
    uint32_t used; /* chunks up to the last one in use; chunk `used` begins where the file ends */
    uint8_t directory[PL_CHUNKS_MAX];
};

/* Writes bytes at an offset in a file: all of them, or returns a negative errno. */
static inline int pl_chunks_write_at(int fd, uint64_t offset, const void *data, size_t bytes)
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

/* Writes records 0 .. count-1 of a kind. Returns 0 or a negative errno: -EFBIG if the file has no room for them. */
int pl_chunks_write(struct pl_chunks *chunks, enum pl_kind kind, const void *record, uint32_t count);

/* Truncates or extends the file to its last chunk, and writes the directories. */
int pl_chunks_end(struct pl_chunks *chunks);

#endif
