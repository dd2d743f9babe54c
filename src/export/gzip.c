/* SPDX-License-Identifier: MIT */
/*
 * gzip.c - a stream that gzips everything written to it, with zlib.
 *
 * zlib gets large pieces only: writers write a few bytes at a time, and a call of deflate() is expensive.
 */
#include "export/gzip.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <zlib.h>

#include "reader/base/grow.h"

#define PIECE_BYTES (64u << 10)
#define GZIP_NOT_ZLIB 16
#define MEMORY_LEVEL 8 /* zlib's default */

struct gzip {
    FILE *out;
    z_stream stream;
    size_t filled;
    unsigned char in[PIECE_BYTES];
    unsigned char packed[PIECE_BYTES];
};

static void pack(struct gzip *gzip, int flush)
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

static ssize_t write_bytes(void *cookie, const char *data, size_t bytes)
{
    struct gzip *gzip = cookie;
    for (size_t done = 0; done < bytes;) {
        size_t room = PIECE_BYTES - gzip->filled, left = bytes - done, part = left < room ? left : room;
        memcpy(gzip->in + gzip->filled, data + done, part);
        gzip->filled += part;
        done += part;
        if (gzip->filled == PIECE_BYTES)
            pack(gzip, Z_NO_FLUSH);
    }
    return ferror(gzip->out) ? 0 : (ssize_t) bytes;
}

static int finish(void *cookie)
{
    struct gzip *gzip = cookie;
    pack(gzip, Z_FINISH);
    deflateEnd(&gzip->stream);
    free(gzip);
    return 0;
}

FILE *pl_gzip_open(FILE *out)
{
    struct gzip *gzip = pl_grow_zeroed(1, sizeof *gzip);
    gzip->out = out;
    int status = deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP_NOT_ZLIB, MEMORY_LEVEL,
                              Z_DEFAULT_STRATEGY);
    pl_grow_check(status == Z_OK ? gzip : NULL, 1, sizeof *gzip);
    FILE *stream = fopencookie(gzip, "w", (cookie_io_functions_t){.write = write_bytes, .close = finish});
    return pl_grow_check(stream, 1, sizeof *gzip);
}
