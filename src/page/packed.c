/* SPDX-License-Identifier: MIT */
/*
 * packed.c - a stream that is gzipped on its way into another: gzip.h, for those who can only write to a FILE.
 */
#include "packed.h"

#include <stdlib.h>
#include <sys/types.h>

#include "grow.h"
#include "gzip.h"

struct packed {
    struct pl_gzip *gzip;
    FILE *out;
};

static ssize_t write_bytes(void *cookie, const char *data, size_t bytes)
{
    struct packed *packed = cookie;
    pl_gzip_write(packed->gzip, data, bytes);
    return ferror(packed->out) ? 0 : (ssize_t) bytes;
}

static int finish(void *cookie)
{
    struct packed *packed = cookie;
    pl_gzip_finish(packed->gzip);
    free(packed);
    return 0;
}

FILE *pl_packed_open(FILE *out)
{
    struct packed *packed = pl_grow_zeroed(1, sizeof *packed);
    *packed = (struct packed){pl_gzip_new(out), out};
    FILE *stream = fopencookie(packed, "w", (cookie_io_functions_t){.write = write_bytes, .close = finish});
    return pl_grow_check(stream, 1, sizeof *packed);
}
