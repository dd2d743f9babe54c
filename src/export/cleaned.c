/* SPDX-License-Identifier: MIT */
/*
 * cleaned.c - the names of functions as a text format writes them.
 */
#include "cleaned.h"

#include <stdlib.h>

#include "grow.h"
#include "label.h"

struct pl_cleaned pl_cleaned_new(const struct pl_flat *flat, void (*tame)(char *name))
{
    return (struct pl_cleaned){flat, tame, pl_grow_zeroed(flat->functions + 1ull, sizeof(char *))};
}

void pl_cleaned_free(struct pl_cleaned *cleaned)
{
    for (uint32_t i = 0; i < cleaned->flat->functions; i++)
        free(cleaned->name[i]);
    free(cleaned->name);
}

const char *pl_cleaned_name(struct pl_cleaned *cleaned, uint32_t line)
{
    uint32_t function = cleaned->flat->line[line].function;
    char **name = &cleaned->name[function];
    if (!*name) {
        *name = pl_label_clean(cleaned->flat->function[function].name);
        if (cleaned->tame)
            cleaned->tame(*name);
    }
    return *name;
}
