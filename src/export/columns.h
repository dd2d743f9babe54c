/* SPDX-License-Identifier: MIT */
/*
 * columns.h - tables of numbers, column by column, behind a JSON text that says where each is: what docs/page-data.md
 * calls the container.
 *
 * A column is not copied: it is a member of the elements of an array, which stays where it is until all is written. One
 * that has nothing but zeros is left out; whoever reads knows the lengths of tables, and takes zeros.
 */
#ifndef PL_COLUMNS_H
#define PL_COLUMNS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "json.h"

/* What the elements of the array have. In the file, U64 is a real number, too. */
enum pl_column_of {
    PL_COLUMN_U8, /* and bool */
    PL_COLUMN_U32,
    PL_COLUMN_U64,
    PL_COLUMN_F64,
};

struct pl_columns;
struct pl_columns *pl_columns_new(void);
void pl_columns_free(struct pl_columns *columns);

/* A table, whose columns have names that begin with its own and a dot. Names stay the caller's. */
void pl_columns_table(struct pl_columns *columns, const char *name, uint32_t count);

/* A column: as many as the last table has, `stride` bytes apart. */
void pl_columns_add(struct pl_columns *columns, const char *name, enum pl_column_of of, const void *data,
                    size_t stride);

/* The members "tables" and "columns" of an object that has been begun. */
void pl_columns_describe(const struct pl_columns *columns, struct pl_json *json);

/* All of it: the head, the JSON text, and the columns as described in it. */
void pl_columns_write(const struct pl_columns *columns, const char *text, size_t bytes, FILE *out);

#endif
