/* SPDX-License-Identifier: MIT */
/*
 * base64.h - a stream that encodes in base64 everything written to it: RFC 4648, padded, without line breaks.
 */
#ifndef PL_BASE64_H
#define PL_BASE64_H

#include <stdio.h>

/* Returns a stream that writes to `out`. fclose() flushes the rest and leaves `out` open; check ferror(out) for
 * errors. */
FILE *pl_base64_open(FILE *out);

#endif
