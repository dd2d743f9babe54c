/* SPDX-License-Identifier: MIT */
/*
 * tagtable.c - tags as a table.
 */
#include "tagtable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrow.h"
#include "tagfigures.h"
#include "utf8.h"

#define GAP 2
#define NAME_WIDTH_LEAST 24 /* below this columns are left out */
#define WHOLE_MAX 1e15      /* what is more is damage, and must not overrun a column */
#define HOT_MARK "▶ "
#define ERROR_TITLE "± 95%"

struct pl_tag_table pl_tagtable_new(const struct pl_view *view, const char *title, enum pl_metric metric)
{
    return (struct pl_tag_table){.view = view, .title = title, .metric = metric, .arena = pl_arena_new()};
}

void pl_tagtable_free(struct pl_tag_table *table)
{
    for (size_t i = 0; i < table->lines; i++) {
        free(table->line[i].guides);
        free(table->line[i].name);
    }
    free(table->line);
    pl_arena_free(table->arena);
}

/* --- lines and columns --- */

struct pl_tag_line *pl_tagtable_line(struct pl_tag_table *table)
{
    if (table->lines == table->room) {
        table->room = table->room ? 2 * table->room : 64;
        table->line = pl_say_memory(realloc(table->line, table->room * sizeof *table->line));
    }
    struct pl_tag_line *line = &table->line[table->lines++];
    *line = (struct pl_tag_line){0};
    return line;
}

/* Counts that are exact have all their digits. */
static void fill_estimate(struct pl_cell *cell, enum pl_metric metric, const struct pl_estimate *estimate)
{
    bool whole = strcmp(pl_metric_info[metric].unit, "bytes") != 0 && estimate->value < WHOLE_MAX;
    if (whole && !(estimate->error > 0))
        pl_figure_exact(cell->value, (uint64_t) llround(estimate->value));
    else
        pl_figure_metric(cell->value, metric, estimate->value);
    pl_figure_error(cell->error, metric, estimate);
}

void pl_tagtable_total(const struct pl_tag_table *table, const struct pl_tag_line *line,
                       const struct pl_tag_column *column, struct pl_cell *cell)
{
    (void) table;
    fill_estimate(cell, (enum pl_metric) column->which, &line->total->metric[column->which]);
}

void pl_tagtable_self(const struct pl_tag_table *table, const struct pl_tag_line *line,
                      const struct pl_tag_column *column, struct pl_cell *cell)
{
    (void) table;
    if (line->self)
        fill_estimate(cell, (enum pl_metric) column->which, &line->self->metric[column->which]);
}

double pl_tagtable_share_of(const struct pl_tag_table *table, const struct pl_tag_figures *figures)
{
    return pl_view_share(table->view->profile, table->metric, figures->metric[table->metric].value);
}

void pl_tagtable_share(const struct pl_tag_table *table, const struct pl_tag_line *line,
                       const struct pl_tag_column *column, struct pl_cell *cell)
{
    (void) column;
    pl_figure_percent(cell->value, pl_tagtable_share_of(table, line->total));
}

static void fill_calls(const struct pl_tag_table *table, const struct pl_tag_line *line,
                       const struct pl_tag_column *column, struct pl_cell *cell)
{
    (void) table, (void) column;
    pl_figure_exact(cell->value, line->total->all_calls);
}

static void fill_frees(const struct pl_tag_table *table, const struct pl_tag_line *line,
                       const struct pl_tag_column *column, struct pl_cell *cell)
{
    struct pl_tag_freed freed = pl_tagfigures_freed(line->total);
    (void) table, (void) column;
    fill_estimate(cell, PL_METRIC_ALLOC_OBJECTS, &freed.objects);
}

static void fill_freed(const struct pl_tag_table *table, const struct pl_tag_line *line,
                       const struct pl_tag_column *column, struct pl_cell *cell)
{
    struct pl_tag_freed freed = pl_tagfigures_freed(line->total);
    (void) table, (void) column;
    fill_estimate(cell, PL_METRIC_ALLOC_SPACE, &freed.space);
}

static void fill_entered(const struct pl_tag_table *table, const struct pl_tag_line *line,
                         const struct pl_tag_column *column, struct pl_cell *cell)
{
    (void) table, (void) column;
    if (line->self && line->self->entered)
        pl_figure_exact(cell->value, line->self->entered);
}

void pl_tagtable_function(const struct pl_tag_table *table, const struct pl_tag_line *line,
                          const struct pl_tag_column *column, struct pl_cell *cell)
{
    (void) table;
    pl_figure_exact(cell->value, line->total->calls[column->which]);
}

void pl_tagtable_column(struct pl_tag_table *table, const char *title, pl_tag_fill *fill, int which)
{
    table->column[table->columns++] = (struct pl_tag_column){.title = title, .fill = fill, .which = which};
}

void pl_tagtable_freed(struct pl_tag_table *table)
{
    pl_tagtable_column(table, "frees", fill_frees, 0);
    pl_tagtable_column(table, "freed", fill_freed, 0);
}

void pl_tagtable_figures(struct pl_tag_table *table, bool freed)
{
    if (table->metric != PL_METRIC_ALLOC_OBJECTS)
        pl_tagtable_column(table, "calls", fill_calls, 0);
    if (table->metric != PL_METRIC_ALLOC_SPACE)
        pl_tagtable_column(table, "bytes", pl_tagtable_total, PL_METRIC_ALLOC_SPACE);
    if (freed)
        pl_tagtable_freed(table);
    if (table->metric != PL_METRIC_INUSE_SPACE)
        pl_tagtable_column(table, "live", pl_tagtable_total, PL_METRIC_INUSE_SPACE);
    pl_tagtable_column(table, "entered", fill_entered, 0);
}

/* --- layout --- */

static void widen(size_t *width, const char *text)
{
    size_t needed = pl_utf8_width(text);
    if (needed > *width)
        *width = needed;
}

static size_t width_of(const struct pl_tag_column *column)
{
    return column->value_width + (column->error_width ? 1 + column->error_width : 0);
}

static void measure(struct pl_tag_table *table, size_t c)
{
    struct pl_tag_column *column = &table->column[c];
    widen(&column->value_width, column->title);
    for (size_t i = 0; i < table->lines; i++) {
        struct pl_cell *cell = &table->line[i].cell[c];
        column->fill(table, &table->line[i], column, cell);
        widen(&column->value_width, cell->value);
        widen(&column->error_width, cell->error);
    }
    if (column->error_width)
        widen(&column->error_width, ERROR_TITLE);
}

static void lay_out(struct pl_tag_table *table)
{
    size_t end = GAP, mark = table->hot ? pl_utf8_width(HOT_MARK) : 0, c = 0;
    for (; c < table->columns; c++) {
        measure(table, c);
        size_t width = width_of(&table->column[c]) + GAP;
        if (c && end + width + mark + NAME_WIDTH_LEAST > table->view->term->width)
            break;
        table->column[c].start = end;
        end += width;
    }
    table->columns = c;
    table->name_column = end;
}

/* --- printing --- */

static void put_cells(const struct pl_tag_table *table, enum pl_style style, const struct pl_cell *cell)
{
    struct pl_term *term = table->view->term;
    for (size_t c = 0; c < table->columns; c++) {
        const struct pl_tag_column *column = &table->column[c];
        if (!*cell[c].value)
            continue;
        pl_term_pad(term, column->start);
        pl_term_right(term, c ? PL_STYLE_PLAIN : style, cell[c].value, column->value_width);
        if (*cell[c].error)
            pl_term_print(term, style == PL_STYLE_DIM ? style : PL_STYLE_PLAIN, " %s", cell[c].error);
    }
    pl_term_pad(term, table->name_column);
}

/* The end of a path says more than its beginning. */
static const char *fit_path(const char *path, size_t columns)
{
    size_t bytes = strlen(path), most = 8 * columns; /* more never fits, and paths may be long */
    if (bytes > most)
        path += bytes - most;
    while (pl_utf8_width(path) + 1 > columns) {
        const char *slash = strchr(path, '/');
        if (!slash || !slash[1])
            break;
        path = slash + 1;
    }
    return path;
}

static void put_name(const struct pl_tag_table *table, const struct pl_tag_line *line)
{
    struct pl_term *term = table->view->term;
    enum pl_style style = line->dim ? PL_STYLE_DIM : line->hot || line->head ? PL_STYLE_BOLD : PL_STYLE_PLAIN;
    size_t room = term->width > term->column ? term->width - term->column : 1;
    if (table->view->full_names) {
        pl_term_put(term, style, line->name);
        return;
    }
    char *clean = pl_say_clean(line->name);
    const char *name = clean;
    if (line->path && pl_utf8_width(clean) > room)
        name = fit_path(clean, room - (room > 2 ? 2 : 0));
    char *text = pl_say_print("%s%s", name == clean ? "" : "…/", name);
    pl_term_cut(term, style, text, room);
    free(text);
    free(clean);
}

static void put_line(const struct pl_tag_table *table, const struct pl_tag_line *line)
{
    struct pl_term *term = table->view->term;
    put_cells(table, line->dim ? PL_STYLE_DIM : PL_STYLE_BOLD, line->cell);
    if (table->hot)
        pl_term_put(term, PL_STYLE_WARN, line->hot ? HOT_MARK : "  ");
    if (line->guides) {
        size_t room = term->width > term->column ? term->width - term->column : 0;
        pl_term_cut(term, PL_STYLE_DIM, line->guides, room / 2);
        pl_term_put(term, PL_STYLE_DIM, line->branch);
    }
    put_name(table, line);
    pl_term_end(term);
}

static void put_heading(const struct pl_tag_table *table)
{
    struct pl_term *term = table->view->term;
    struct pl_cell heading[PL_TAG_COLUMNS] = {0};
    for (size_t c = 0; c < table->columns; c++) {
        snprintf(heading[c].value, sizeof heading[c].value, "%s", table->column[c].title);
        if (table->column[c].error_width)
            strcpy(heading[c].error, ERROR_TITLE);
    }
    pl_view_heading(table->view, table->title);
    if (table->hot)
        pl_term_put(term, PL_STYLE_DIM, "   " HOT_MARK "at least half of what is above it");
    pl_term_end(term);
    put_cells(table, PL_STYLE_DIM, heading);
    pl_term_put(term, PL_STYLE_DIM, table->hot ? "  tag" : "tag");
    pl_term_end(term);
}

void pl_tagtable_put(struct pl_tag_table *table)
{
    lay_out(table);
    put_heading(table);
    for (size_t i = 0; i < table->lines; i++)
        put_line(table, &table->line[i]);
}

/* --- several together --- */

void pl_tagtable_estimate(const struct pl_profile *profile, struct pl_tag_figures *sum)
{
    pl_figures_estimate(&sum->figures, sum->metric);
    pl_narrow_allow(profile, sum->figures.allocated.sampled.samples, sum->metric);
    pl_tagfigures_bound(sum->metric, (double) sum->all_calls, (double) sum->bytes);
}
