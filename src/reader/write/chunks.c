/* SPDX-License-Identifier: MIT */
/*
 * chunks.c - writes arrays of records as chunks.
 *
 * A chunk that is not full ends with zeros, which read as records that do not exist. They are not written:
 * pl_chunks_end() extends the file over them.
 */
#include "reader/write/chunks.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int pl_chunks_write(struct pl_chunks *chunks, enum pl_kind kind, const void *record, uint32_t count)
{
    uint32_t bytes = pl_record_bytes[kind], per_chunk = PL_CHUNK_BYTES / bytes;
    int result = 0;
    for (uint32_t first = 0; first < count && result == 0; first += per_chunk) {
        uint32_t records = count - first < per_chunk ? count - first : per_chunk;
        if (pl_chunk_is_directory(chunks->used))
            chunks->directory[chunks->used++] = PL_KIND_DIRECTORY;
        if (chunks->used >= PL_CHUNKS_MAX)
            return -EFBIG;
        chunks->directory[chunks->used] = (uint8_t) kind;
        result = pl_chunks_write_at(chunks->fd, pl_chunk_offset(chunks->used++),
                                    (const char *) record + (size_t) first * bytes, (size_t) records * bytes);
    }
    return result;
}

int pl_chunks_end(struct pl_chunks *chunks)
{
    int result = ftruncate(chunks->fd, (off_t) pl_chunk_offset(chunks->used)) != 0 ? -errno : 0;
    for (uint32_t first = 0; first <= chunks->used && first < PL_CHUNKS_MAX && result == 0;
         first += PL_DIRECTORY_CHUNKS)
        if (first == 0 || chunks->directory[first - 1] == PL_KIND_DIRECTORY)
            result =
                pl_chunks_write_at(chunks->fd, pl_chunk_entry(first), chunks->directory + first, PL_DIRECTORY_CHUNKS);
    return result;
}
