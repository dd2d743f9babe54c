/* SPDX-License-Identifier: MIT */
/*
 * export.c - the table of formats.
 */
#include "export.h"

const struct pl_export_format pl_export_formats[] = {
    {"json", "everything, by the schema of docs/json.md", pl_export_json},
    {NULL, NULL, NULL},
};
