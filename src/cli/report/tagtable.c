/* SPDX-License-Identifier: MIT */
/*
 * tagtable.c - tags as a table.
 */
#include "cli/report/tagtable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metric.h"
#include "analysis/narrow.h"
#include "analysis/tags/tagfigures.h"
#include "cli/report/print.h"
#include "reader/base/utf8.h"

#define NAME_WIDTH_LEAST 24 /* if less is left for names, columns are left out */
#define WHOLE_MAX 1e15      /* a larger value comes from a damaged file, and must not overrun a column */
#define HOT_MARK "▶ "

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

/* Exact counts are printed with all digits. */
static void fill_estimate(struct pl_cell *cell, enum pl_metric metric, const struct pl_estimate *estimate)
{
    bool whole = strcmp(pl_metric_info[metric].unit, "bytes") != 0 && estimate->value < WHOLE_MAX;
    if (whole && !(estimate->error > 0))
        pl_figure_exact(cell->value, (uint64_t) llround(estimate->value));
    else
        pl_figure_cell(cell->value, cell->error, metric, estimate);
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
    return pl_metric_share(table->view->profile, table->metric, figures->metric[table->metric].value);
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
    table->column[table->columns++] = (struct pl_tag_column){.place = {.title = title}, .fill = fill, .which = which};
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

static void measure(struct pl_tag_table *table, size_t c)
{
    struct pl_tag_column *column = &table->column[c];
    pl_table_widen_title(&column->place);
    for (size_t i = 0; i < table->lines; i++) {
        struct pl_cell *cell = &table->line[i].cell[c];
        column->fill(table, &table->line[i], column, cell);
        pl_table_widen_cell(&column->place, cell);
    }
    pl_table_widen_error(&column->place);
}

static void lay_out(struct pl_tag_table *table)
{
    size_t end = PL_TABLE_GAP, mark = table->hot ? pl_utf8_width(HOT_MARK) : 0, c = 0;
    for (; c < table->columns; c++) {
        measure(table, c);
        size_t width = pl_table_width(&table->column[c].place) + PL_TABLE_GAP;
        if (c && end + width + mark + NAME_WIDTH_LEAST > table->view->term->width)
            break;
        table->column[c].place.start = end;
        end += width;
    }
    table->columns = c;
    table->name_column = end;
}

/* --- printing --- */

static void put_cells(const struct pl_tag_table *table, enum pl_style style, const struct pl_cell *cell)
{
    struct pl_term *term = table->view->term;
    for (size_t c = 0; c < table->columns; c++)
        if (*cell[c].value)
            pl_table_put(term, &table->column[c].place, &cell[c], c ? PL_STYLE_PLAIN : style,
                         style == PL_STYLE_DIM ? style : PL_STYLE_PLAIN);
    pl_term_pad(term, table->name_column);
}

/* Drops leading parts of a path that is too long: its end says more than its beginning. */
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
    for (size_t c = 0; c < table->columns; c++)
        heading[c] = pl_table_heading(&table->column[c].place);
    pl_print_heading(table->view, table->title);
    if (table->hot)
        pl_term_put(term, PL_STYLE_DIM, "   " HOT_MARK "at least half of its parent");
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

/* --- sums --- */

void pl_tagtable_estimate(const struct pl_profile *profile, struct pl_tag_figures *sum)
{
    pl_estimate_figures(&sum->figures, sum->metric);
    pl_narrow_allow(profile, sum->figures.allocated.sampled.samples, sum->metric);
    pl_tagfigures_bound(sum->metric, (double) sum->all_calls, (double) sum->bytes);
}
