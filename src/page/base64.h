/* SPDX-License-Identifier: MIT */
/*
 * base64.h - bytes as letters on their way into a file: the alphabet of RFC 4648, padded, without line breaks.
 */
#ifndef PL_BASE64_H
#define PL_BASE64_H

#include <stdio.h>

/* A stream whose bytes arrive in `out` as letters. fclose() writes what is left; `out` stays open, and its errors stay
 * with it (ferror). */
FILE *pl_base64_open(FILE *out);

#endif
