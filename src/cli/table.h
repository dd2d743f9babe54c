/* SPDX-License-Identifier: MIT */
/*
 * table.h - tables on the terminal: columns that are as wide as their contents.
 *
 * A column has a figure, right-aligned, and if some figure has an error, that follows it, left-aligned:
 *
 *      bytes ± 95%      blocks
 *    1.9 MiB ± 0.2 MiB   1,180
 *     12 KiB               960
 */
#ifndef PL_TABLE_H
#define PL_TABLE_H

#include "analysis/figure.h"
#include "cli/term.h"

#define PL_TABLE_GAP 2 /* between columns */

#define PL_CELL_BYTES 112 /* a figure, or a character for each of 32 buckets */

struct pl_cell {
    char value[PL_CELL_BYTES];
    char error[PL_FIGURE_BYTES]; /* "± 0.3 MiB"; "" for an exact figure */
};

struct pl_table_column {
    const char *title;
    size_t start, value_width, error_width; /* error_width 0: no cell has an error */
};

/* Makes a width large enough for a text. */
void pl_table_widen(size_t *width, const char *text);

/* Makes a column wide enough: for its title, then for each cell, and finally for the title of its errors, if any. */
void pl_table_widen_title(struct pl_table_column *column);
void pl_table_widen_cell(struct pl_table_column *column, const struct pl_cell *cell);
void pl_table_widen_error(struct pl_table_column *column);

/* Value and error, without the gap after them. */
size_t pl_table_width(const struct pl_table_column *column);

/* The heading of a column as a cell. */
struct pl_cell pl_table_heading(const struct pl_table_column *column);

/* Prints a cell from the start of its column; an error that belongs to dim text is dim as well. */
void pl_table_put(struct pl_term *term, const struct pl_table_column *column, const struct pl_cell *cell,
                  enum pl_style style, enum pl_style error_style);

#endif
