/* SPDX-License-Identifier: MIT */
/*
 * stem.h - what every match of a regular expression begins with, as far as it is easily seen: a text, and then one of
 * several.
 *
 *   std::(allocator|less)<.*>    "std::", and then "allocator" or "less"
 *   ^operator new                "operator new"
 *   (a|b)?c                      anything
 *
 * Most names do not contain such a beginning, and need not be matched with the expression, which takes a hundred times
 * as long.
 */
#ifndef PL_STEM_H
#define PL_STEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PL_STEM_BRANCHES 16

struct pl_arena;

struct pl_stem {
    bool anchored; /* matches begin only at the start of the text */
    uint32_t branches;
    const char *text; /* "": not known */
    const char *branch[PL_STEM_BRANCHES];
};

/* The pattern is a POSIX extended expression that regcomp() accepts. */
struct pl_stem pl_stem_read(struct pl_arena *arena, const char *pattern);

/* Can a match begin where the text does? */
bool pl_stem_starts(const struct pl_stem *stem, const char *text, size_t bytes);

/* The first place in the text where a match can begin, whether anchored or not; NULL: there is none. */
const char *pl_stem_find(const struct pl_stem *stem, const char *text, size_t bytes);

/* Does the expression refer back to its own groups? */
bool pl_stem_refers_back(const char *pattern);

#endif
