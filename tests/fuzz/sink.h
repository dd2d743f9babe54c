/* SPDX-License-Identifier: MIT */
/*
 * sink.h - a stream that writes to memory.
 */
#ifndef PL_FUZZ_SINK_H
#define PL_FUZZ_SINK_H

#include <stdbool.h>
#include <stdio.h>

/* Stacks that share frames are written one by one, so a small profile may give a very long text. Text beyond this limit
 * is discarded. */
#define FUZZ_SINK_BYTES (128u << 10)

struct fuzz_sink {
    char text[FUZZ_SINK_BYTES + 1]; /* ends with a NUL after the stream is closed */
    size_t bytes;
    bool whole; /* nothing was discarded */
};

FILE *fuzz_sink_open(struct fuzz_sink *sink);

#endif
