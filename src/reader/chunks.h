/* SPDX-License-Identifier: MIT */
/*
 * chunks.h - records as chunks of a file, behind those that are there.
 */
#ifndef PL_CHUNKS_H
#define PL_CHUNKS_H

#include "format.h"

struct pl_chunks {
    int fd;
    uint32_t used; /* chunks in use, and everything before them */
    uint8_t directory[PL_CHUNKS_MAX];
};

/* Where a chunk is in the file; that of `used`: where the file ends. */
static inline uint64_t pl_chunks_offset(uint32_t chunk)
{
    return PL_CHUNKS_OFFSET + (uint64_t) chunk * PL_CHUNK_BYTES;
}

/* Records 0 .. count-1 of a kind. 0, or a negative errno: -EFBIG if a file has no room for them. */
int pl_chunks_write(struct pl_chunks *chunks, enum pl_kind kind, const void *record, uint32_t count);

/* Cuts or extends the file to its chunks, and writes the directory. */
int pl_chunks_end(struct pl_chunks *chunks);

#endif
