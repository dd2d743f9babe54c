/* SPDX-License-Identifier: MIT */
/*
 * table.c - tables on the terminal: columns that are as wide as their contents.
 */
#include "cli/table.h"

#include <stdio.h>

#include "reader/base/utf8.h"

#define ERROR_TITLE "± 95%"

void pl_table_widen(size_t *width, const char *text)
{
    size_t needed = pl_utf8_width(text);
    if (needed > *width)
        *width = needed;
}

void pl_table_widen_title(struct pl_table_column *column)
{
    pl_table_widen(&column->value_width, column->title);
}

void pl_table_widen_cell(struct pl_table_column *column, const struct pl_cell *cell)
{
    pl_table_widen(&column->value_width, cell->value);
    pl_table_widen(&column->error_width, cell->error);
}

void pl_table_widen_error(struct pl_table_column *column)
{
    if (column->error_width)
        pl_table_widen(&column->error_width, ERROR_TITLE);
}

size_t pl_table_width(const struct pl_table_column *column)
{
    return column->value_width + (column->error_width ? 1 + column->error_width : 0);
}

struct pl_cell pl_table_heading(const struct pl_table_column *column)
{
    struct pl_cell cell = {0};
    snprintf(cell.value, sizeof cell.value, "%s", column->title);
    if (column->error_width)
        snprintf(cell.error, sizeof cell.error, "%s", ERROR_TITLE);
    return cell;
}

/* Text before the column may reach into it, up to its value. */
void pl_table_put(struct pl_term *term, const struct pl_table_column *column, const struct pl_cell *cell,
                  enum pl_style style, enum pl_style error_style)
{
    size_t end = column->start + column->value_width;
    pl_term_right(term, style, cell->value, end > term->column ? end - term->column : 0);
    if (*cell->error)
        pl_term_print(term, error_style, " %s", cell->error);
}
