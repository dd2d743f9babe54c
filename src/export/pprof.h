/* SPDX-License-Identifier: MIT */
/*
 * pprof.h - writes a digest for `go tool pprof` and for stores that take its format.
 */
#ifndef PL_PPROF_H
#define PL_PPROF_H

#include <stdbool.h>
#include <stdio.h>

#include "export/digest.h"

struct pl_pprof {
    struct pl_digest_view view;
    const char *const *comment; /* NULL-terminated; NULL: none */
    bool relative;              /* addresses as in the binaries, not as in the process: the same in all processes */
    bool block_sizes;           /* samples have the mean size of their blocks, as in Go */
    bool no_names;              /* addresses and build-ids only: the reader finds the names */
};

/* Gzipped. */
void pl_pprof_write(const struct pl_pprof *pprof, FILE *out);

#endif
