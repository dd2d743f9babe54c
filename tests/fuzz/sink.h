/* SPDX-License-Identifier: MIT */
/*
 * sink.h - a stream that ends in memory.
 */
#ifndef PL_FUZZ_SINK_H
#define PL_FUZZ_SINK_H

#include <stdbool.h>
#include <stdio.h>

/* Stacks that share their frames are written out one by one, so that a small profile may be a very long text. Beyond
 * this much of it nothing is kept: what follows is more of the same. */
#define FUZZ_SINK_BYTES (128u << 10)

struct fuzz_sink {
    char text[FUZZ_SINK_BYTES + 1]; /* ends with a NUL, once the stream was closed */
    size_t bytes;
    bool whole; /* all of it is there */
};

FILE *fuzz_sink_open(struct fuzz_sink *sink);

#endif
