/* SPDX-License-Identifier: MIT */
/*
 * sink.c - a stream that writes to memory.
 */
#include "sink.h"

#include <stdlib.h>
#include <string.h>

static ssize_t keep(void *cookie, const char *data, size_t bytes)
{
    struct fuzz_sink *sink = cookie;
    size_t room = FUZZ_SINK_BYTES - sink->bytes, kept = bytes < room ? bytes : room;
    memcpy(sink->text + sink->bytes, data, kept);
    sink->bytes += kept;
    sink->whole = sink->whole && kept == bytes;
    return (ssize_t) bytes;
}

static int end(void *cookie)
{
    struct fuzz_sink *sink = cookie;
    sink->text[sink->bytes] = 0;
    return 0;
}

FILE *fuzz_sink_open(struct fuzz_sink *sink)
{
    sink->bytes = 0;
    sink->whole = true;
    FILE *stream = fopencookie(sink, "w", (cookie_io_functions_t){.write = keep, .close = end});
    if (!stream)
        abort();
    return stream;
}
