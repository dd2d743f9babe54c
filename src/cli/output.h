/* SPDX-License-Identifier: MIT */
/*
 * output.h - where a command writes what it makes: a file that appears whole or not at all, or stdout.
 */
#ifndef PL_OUTPUT_H
#define PL_OUTPUT_H

#include <stdio.h>
#include <sys/types.h>

#include "say.h"

/* Writes everything to the stream. Errors of the stream stay with it (ferror). */
typedef void pl_output_function(void *context, FILE *out);

/* Who can read a file that is new: whoever usually can, or its owner alone, as with profiles. */
#define PL_OUTPUT_USUAL 0666 /* and umask */
#define PL_OUTPUT_PRIVATE 0600

struct pl_output {
    const char *what; /* "the json" */
    mode_t mode;
    pl_output_function *write;
    void *context;
};

/*
 * Writes the file: under another name first, so that a failure leaves what was there before. A profile is never written
 * over. Why it failed has been said.
 */
enum pl_exit pl_output_write(const struct pl_output *output, const char *path);

#endif
