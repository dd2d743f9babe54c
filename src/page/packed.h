/* SPDX-License-Identifier: MIT */
/*
 * packed.h - a stream that is gzipped on its way into another.
 */
#ifndef PL_PACKED_H
#define PL_PACKED_H

#include <stdio.h>

/* fclose() writes what is left; `out` stays open, and its errors stay with it (ferror). */
FILE *pl_packed_open(FILE *out);

#endif
