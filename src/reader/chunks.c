/* SPDX-License-Identifier: MIT */
/*
 * chunks.c - writes arrays of records as chunks.
 *
 * A chunk that is not full ends with zeros: records that do not exist. They need not be written, as the file is
 * extended over them in the end.
 */
#include "chunks.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "write.h"

int pl_chunks_write(struct pl_chunks *chunks, enum pl_kind kind, const void *record, uint32_t count)
{
    uint32_t bytes = pl_record_bytes[kind], per_chunk = PL_CHUNK_BYTES / bytes;
    uint32_t wanted = count / per_chunk + (count % per_chunk > 0);
    if (wanted > PL_CHUNKS_MAX - chunks->used)
        return -EFBIG;
    int result = 0;
    for (uint32_t first = 0; first < count && result == 0; first += per_chunk) {
        uint32_t records = count - first < per_chunk ? count - first : per_chunk;
        chunks->directory[chunks->used] = (uint8_t) kind;
        result = pl_write_at(chunks->fd, pl_chunks_offset(chunks->used++),
                             (const char *) record + (size_t) first * bytes, (size_t) records * bytes);
    }
    return result;
}

int pl_chunks_end(struct pl_chunks *chunks)
{
    if (ftruncate(chunks->fd, (off_t) pl_chunks_offset(chunks->used)) != 0)
        return -errno;
    return pl_write_at(chunks->fd, PL_HEADER_BYTES, chunks->directory, sizeof chunks->directory);
}
