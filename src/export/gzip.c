/* SPDX-License-Identifier: MIT */
/*
 * gzip.c - a gzip stream on its way into a file, by zlib.
 *
 * zlib sees large pieces only: writers write a few bytes at a time, and a call of deflate() has its price.
 */
#include "gzip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "grow.h"

#define PIECE_BYTES (64u << 10)
#define GZIP_NOT_ZLIB 16
#define MEMORY_LEVEL 8 /* zlib's default */

struct pl_gzip {
    FILE *out;
    z_stream stream;
    size_t filled;
    unsigned char in[PIECE_BYTES];
    unsigned char packed[PIECE_BYTES];
};

struct pl_gzip *pl_gzip_new(FILE *out)
{
    struct pl_gzip *gzip = pl_grow_zeroed(1, sizeof *gzip);
    gzip->out = out;
    int status = deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP_NOT_ZLIB, MEMORY_LEVEL,
                              Z_DEFAULT_STRATEGY);
    pl_grow_check(status == Z_OK ? gzip : NULL, 1, sizeof *gzip);
    return gzip;
}

static void pack(struct pl_gzip *gzip, int flush)
{
    z_stream *stream = &gzip->stream;
    stream->next_in = gzip->in;
    stream->avail_in = (uInt) gzip->filled;
    do {
        stream->next_out = gzip->packed;
        stream->avail_out = PIECE_BYTES;
        deflate(stream, flush);
        fwrite(gzip->packed, 1, PIECE_BYTES - stream->avail_out, gzip->out);
    } while (stream->avail_out == 0);
    gzip->filled = 0;
}

void pl_gzip_write(struct pl_gzip *gzip, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    while (bytes > 0) {
        size_t room = PIECE_BYTES - gzip->filled, part = bytes < room ? bytes : room;
        memcpy(gzip->in + gzip->filled, from, part);
        gzip->filled += part;
        from += part;
        bytes -= part;
        if (gzip->filled == PIECE_BYTES)
            pack(gzip, Z_NO_FLUSH);
    }
}

void pl_gzip_finish(struct pl_gzip *gzip)
{
    pack(gzip, Z_FINISH);
    deflateEnd(&gzip->stream);
    free(gzip);
}
