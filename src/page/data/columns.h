/* SPDX-License-Identifier: MIT */
/*
 * columns.h - writes tables of numbers, column by column, after a JSON text that says where each column begins: the
 * container of docs/page-data.md.
 *
 * A column is one member of the structs in an array. It is not copied, so the array must stay valid until
 * pl_columns_write(). A column of zeros is not written; a reader knows the length of its table and assumes zeros.
 */
#ifndef PL_COLUMNS_H
#define PL_COLUMNS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "export/json.h"

/* The type of the member in memory. The file stores U64 as f64, too. */
enum pl_column_of {
    PL_COLUMN_U8, /* and bool */
    PL_COLUMN_U32,
    PL_COLUMN_U64,
    PL_COLUMN_F64,
};

struct pl_columns;
struct pl_columns *pl_columns_new(void);
void pl_columns_free(struct pl_columns *columns);

/* Begins a table of `count` rows. The names of its columns begin with its name and a dot. Names are not copied. */
void pl_columns_table(struct pl_columns *columns, const char *name, uint32_t count);

/* Adds a column to the last table: one number per row, `stride` bytes apart. */
void pl_columns_add(struct pl_columns *columns, const char *name, enum pl_column_of of, const void *data,
                    size_t stride);

/* Adds a column for each of these members of the structs in an array. */
struct pl_columns_member {
    const char *name;
    enum pl_column_of of;
    size_t offset;
};
void pl_columns_add_all(struct pl_columns *columns, const struct pl_columns_member *member, size_t members,
                        const void *array, size_t stride);

/* Writes the members "tables" and "columns" into the current JSON object. */
void pl_columns_describe(const struct pl_columns *columns, struct pl_json *json);

/* Writes the container: head, JSON text, and the columns that the text describes. */
void pl_columns_write(const struct pl_columns *columns, const char *text, size_t bytes, FILE *out);

#endif
