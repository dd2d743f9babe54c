/* SPDX-License-Identifier: MIT */
/*
 * gzip.h - a stream that gzips everything written to it. It has neither a name nor a time in it: the same bytes in give
 * the same bytes out.
 */
#ifndef PL_GZIP_H
#define PL_GZIP_H

#include <stdio.h>

/* Returns a stream that writes to `out`. fclose() flushes the rest and leaves `out` open; check ferror(out) for
 * errors. */
FILE *pl_gzip_open(FILE *out);

#endif
