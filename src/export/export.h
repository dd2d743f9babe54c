/* SPDX-License-Identifier: MIT */
/*
 * export.h - a symbolized profile in the formats of other tools. A format is one file and one row of the table.
 */
#ifndef PL_EXPORT_H
#define PL_EXPORT_H

#include <stdio.h>

#include "profile.h"

/* X(name, help): pl_export_NAME() is the function, --format NAME the option. */
#define PL_EXPORT_FORMATS(X) X(json, "everything, by the schema of docs/json.md")

/* Writes as it goes: nothing the size of the profile is built in memory. Errors stay in the stream (ferror). */
typedef void pl_export_function(const struct pl_profile *profile, FILE *out);

#define PL_DECLARE(name, help) pl_export_function pl_export_##name;
PL_EXPORT_FORMATS(PL_DECLARE)
#undef PL_DECLARE

#endif
