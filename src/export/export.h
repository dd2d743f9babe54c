/* SPDX-License-Identifier: MIT */
/*
 * export.h - a symbolized profile in the formats of other tools. A format is one file and one row of the table.
 */
#ifndef PL_EXPORT_H
#define PL_EXPORT_H

#include <stdio.h>

#include "profile.h"

struct pl_export_format {
    const char *name; /* as --format takes it; NULL ends the table */
    const char *help;
    /* Writes as it goes: nothing the size of the profile is built in memory. Errors stay in the stream (ferror). */
    void (*write)(const struct pl_profile *profile, FILE *out);
};
extern const struct pl_export_format pl_export_formats[];

void pl_export_json(const struct pl_profile *profile, FILE *out);

#endif
