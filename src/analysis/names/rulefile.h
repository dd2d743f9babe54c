/* SPDX-License-Identifier: MIT */
/*
 * rulefile.h - reads files of rules that people write, one rule a line. Errors name the file and the line.
 */
#ifndef PL_RULEFILE_H
#define PL_RULEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/profile.h"

struct pl_rule_line {
    const char *path; /* NULL: built in */
    uint32_t number;  /* 0: before the first */
    const char *text;
    size_t bytes;
    const char *next, *end; /* the text after it, and the end of that */
};

/* Reads the whole file, whose text the caller frees. 0 or a negative errno: -EFBIG if it is longer than `bytes_max`. */
int pl_rulefile_read(const char *path, size_t bytes_max, char **text, size_t *bytes);

/* Goes to the next line that is neither empty nor a comment (`#`), and trims it. False: there is none. */
bool pl_rulefile_next(struct pl_rule_line *line);

/* Returns -EINVAL, and writes "FILE:LINE: " and what is wrong to `why`. */
int pl_rulefile_complain(const struct pl_rule_line *line, char why[PL_WHY_BYTES], const char *format, ...)
    __attribute__((format(printf, 3, 4)));

bool pl_rulefile_blank(char character);
void pl_rulefile_trim(struct pl_rule_line *line);

#endif
