/* SPDX-License-Identifier: MIT */
/*
 * gzip.h - a gzip stream on its way into a file. It has neither a name nor a time in it: the same bytes in give the
 * same bytes out.
 */
#ifndef PL_GZIP_H
#define PL_GZIP_H

#include <stddef.h>
#include <stdio.h>

struct pl_gzip;
struct pl_gzip *pl_gzip_new(FILE *out);
void pl_gzip_write(struct pl_gzip *gzip, const void *data, size_t bytes);

/* Writes what is left, and frees it. Errors of the file stay with the file (ferror). */
void pl_gzip_finish(struct pl_gzip *gzip);

#endif
