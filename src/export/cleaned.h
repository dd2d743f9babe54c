/* SPDX-License-Identifier: MIT */
/*
 * cleaned.h - the names of functions as a text format writes them: each cleaned once, when it is first needed, however
 * many stacks it is in.
 */
#ifndef PL_CLEANED_H
#define PL_CLEANED_H

#include "flat.h"

struct pl_cleaned {
    const struct pl_flat *flat;
    void (*tame)(char *name); /* what the format cannot have in a clean name (label.h), it replaces; NULL: nothing */
    char **name;              /* by function; NULL: not needed yet */
};

struct pl_cleaned pl_cleaned_new(const struct pl_flat *flat, void (*tame)(char *name));
void pl_cleaned_free(struct pl_cleaned *cleaned);

/* Of the function that a line is of. */
const char *pl_cleaned_name(struct pl_cleaned *cleaned, uint32_t line);

#endif
