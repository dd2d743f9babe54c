/* SPDX-License-Identifier: MIT */
/*
 * listing.c - sites as a table:
 *
 *   Never freed    bytes ± 95%       share   blocks ± 95%  site
 *     ███████▏  1.9 MiB ± 0.2 MiB   91.0%    1,180 ± 120   index_add_term  src/index.c:212  [indexer]
 *               ← index_file  src/index.c:97 ← main  src/main.c:31
 *
 * Columns are as wide as what is in them. On a narrow terminal the last ones go first, so that names keep their room.
 */
#include "listing.h"

#include <stdlib.h>
#include <string.h>

#include "utf8.h"

#define BAR_WIDTH 8
#define INDENT 2
#define GAP 2
#define FIGURES (INDENT + BAR_WIDTH + GAP) /* where they begin */
#define SHARE_WIDTH 6                      /* 100.0% */
#define ERROR_TITLE "± 95%"
#define SITE_WIDTH_LEAST 44 /* what columns leave to the site; */
#define SITE_WIDTH_KEPT 24  /* what those leave that a view cannot do without */

struct line {
    uint32_t path;
    double fraction;
    char share[PL_FIGURE_BYTES];
    struct pl_cell cell[PL_LISTING_COLUMNS];
};

struct table {
    const struct pl_listing *listing;
    struct pl_term *term;
    struct line *line;
    uint32_t count;
    size_t columns; /* shown */
    size_t start[PL_LISTING_COLUMNS], value_width[PL_LISTING_COLUMNS], error_width[PL_LISTING_COLUMNS];
    size_t site_column;
};

/* --- which --- */

static const double *sorted_by;

static int heaviest_first(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *) left, b = *(const uint32_t *) right;
    double x = sorted_by[a], y = sorted_by[b];
    return x != y ? (x < y ? 1 : -1) : (a > b) - (a < b);
}

uint32_t *pl_listing_order(const struct pl_paths *paths, const double *weight)
{
    uint32_t *order = pl_say_memory(calloc(paths->count + 1ull, sizeof *order));
    for (uint32_t i = 0; i < paths->count; i++)
        order[i] = i;
    sorted_by = weight;
    qsort(order, paths->count, sizeof *order, heaviest_first);
    return order;
}

static double share_of(const struct pl_listing *listing, double weight)
{
    return listing->whole > 0 ? weight / listing->whole : 0;
}

static bool worth_a_line(const struct table *table, double weight)
{
    const struct pl_listing *listing = table->listing;
    return weight > 0 && table->count < listing->view->top &&
           (!(listing->whole > 0) || share_of(listing, weight) >= listing->view->threshold);
}

static void fill_line(const struct pl_listing *listing, uint32_t path, double heaviest, struct line *line)
{
    double weight = listing->weight[path], share = share_of(listing, weight);
    line->path = path;
    line->fraction = listing->whole > 0 ? share : weight / heaviest;
    pl_figure_percent(line->share, share);
    for (size_t c = 0; c < PL_LISTING_COLUMNS && listing->column[c].title; c++)
        listing->column[c].fill(listing, path, &line->cell[c]);
}

static void fill(struct table *table, const uint32_t *order)
{
    const struct pl_listing *listing = table->listing;
    for (uint32_t i = 0; i < listing->paths->count && worth_a_line(table, listing->weight[order[i]]); i++)
        fill_line(listing, order[i], listing->weight[order[0]], &table->line[table->count++]);
}

/* --- layout --- */

static void widen(size_t *width, const char *text)
{
    size_t needed = pl_utf8_width(text);
    if (needed > *width)
        *width = needed;
}

static size_t column_width(const struct table *table, size_t c)
{
    return table->value_width[c] + (table->error_width[c] ? 1 + table->error_width[c] : 0);
}

static void measure(struct table *table, size_t c)
{
    widen(&table->value_width[c], table->listing->column[c].title);
    for (uint32_t i = 0; i < table->count; i++) {
        widen(&table->value_width[c], table->line[i].cell[c].value);
        widen(&table->error_width[c], table->line[i].cell[c].error);
    }
    if (table->error_width[c])
        widen(&table->error_width[c], ERROR_TITLE);
}

static void lay_out(struct table *table)
{
    const struct pl_listing *listing = table->listing;
    size_t end = FIGURES;
    for (size_t c = 0; c < PL_LISTING_COLUMNS && listing->column[c].title; c++) {
        measure(table, c);
        size_t width = column_width(table, c) + GAP + (c || !(listing->whole > 0) ? 0 : SHARE_WIDTH + GAP);
        size_t least = c < listing->keep ? SITE_WIDTH_KEPT : SITE_WIDTH_LEAST;
        if (c && end + width + least > table->term->width)
            break;
        table->columns = c + 1;
        table->start[c] = end;
        end += width;
    }
    table->site_column = end;
}

/* A figure to the right of its column, its error to the left of the next. */
static void put_cell(const struct table *table, enum pl_style style, const struct pl_cell *cell, size_t c)
{
    struct pl_term *term = table->term;
    size_t start = table->start[c], end = start + table->value_width[c];
    pl_term_right(term, style, cell->value, end > term->column ? end - term->column : 0);
    if (table->error_width[c]) {
        pl_term_put(term, style, " ");
        pl_term_put(term, style == PL_STYLE_DIM ? style : PL_STYLE_PLAIN, cell->error);
    }
    pl_term_pad(term, start + column_width(table, c) + GAP);
}

static void put_columns(const struct table *table, enum pl_style style, const struct line *line)
{
    for (size_t c = 0; c < table->columns; c++) {
        put_cell(table, style, &line->cell[c], c);
        if (c || !(table->listing->whole > 0))
            continue;
        pl_term_right(table->term, style, line->share, SHARE_WIDTH);
        pl_term_pad(table->term, table->term->column + GAP);
    }
}

static void put_title(const struct table *table)
{
    struct pl_term *term = table->term;
    struct line heading = {.share = "share"};
    for (size_t c = 0; c < table->columns; c++) {
        snprintf(heading.cell[c].value, sizeof heading.cell[c].value, "%s", table->listing->column[c].title);
        if (table->error_width[c])
            strcpy(heading.cell[c].error, ERROR_TITLE);
    }
    pl_term_end(term);
    pl_term_put(term, PL_STYLE_HEAD, table->listing->title);
    if (term->column + GAP > FIGURES + table->value_width[0] - pl_utf8_width(heading.cell[0].value))
        pl_term_end(term);
    put_columns(table, PL_STYLE_DIM, &heading);
    pl_term_put(term, PL_STYLE_DIM, "site");
    pl_term_end(term);
}

/* --- rows --- */

/* Callers have lines of their own, from the figures on: they are long, and there are several. */
static void put_callers(const struct table *table, const struct pl_path *path)
{
    struct pl_term *term = table->term;
    const struct pl_spot *spots = table->listing->view->spots->spot;
    if (path->count < 2)
        return;
    pl_term_end(term);
    pl_term_pad(term, FIGURES);
    for (uint32_t i = 1; i < path->count; i++) {
        const struct pl_spot *spot = &spots[path->spot[i]];
        bool elsewhere = strcmp(spot->module, spots[path->spot[i - 1]].module) != 0;
        pl_view_spot(term, "← ", spot, FIGURES, elsewhere);
    }
    if (path->more)
        pl_view_more(term, FIGURES);
}

static void put_line(const struct table *table, const struct line *line)
{
    struct pl_term *term = table->term;
    const struct pl_spot *spots = table->listing->view->spots->spot;
    const struct pl_path *path = &table->listing->paths->path[line->path];
    pl_term_pad(term, INDENT);
    pl_term_bar(term, line->fraction, BAR_WIDTH);
    put_columns(table, PL_STYLE_BOLD, line);
    pl_view_spot(term, "", &spots[path->spot[0]], table->site_column, true);
    if (path->via != PL_PATH_NO_SPOT) {
        struct pl_spot called = {.name = spots[path->via].name, .file = "", .module = "", .role = PL_ROLE_LIBRARY};
        pl_view_spot(term, "→ ", &called, table->site_column, false);
    }
    put_callers(table, path);
    pl_term_end(term);
}

static void put_rest(const struct table *table, const uint32_t *order)
{
    const struct pl_listing *listing = table->listing;
    struct pl_term *term = table->term;
    double weight = 0;
    uint32_t more = 0;
    struct line rest = {0};
    char number[PL_FIGURE_BYTES];
    for (uint32_t i = table->count; i < listing->paths->count; i++) {
        weight += listing->weight[order[i]] > 0 ? listing->weight[order[i]] : 0;
        more += listing->weight[order[i]] > 0;
    }
    if (!more)
        return;
    pl_figure_percent(rest.share, share_of(listing, weight));
    put_columns(table, PL_STYLE_DIM, &rest);
    pl_figure_exact(number, more);
    pl_term_print(term, PL_STYLE_DIM, "(%s more)", number);
    pl_term_end(term);
}

void pl_listing_put(const struct pl_listing *listing)
{
    struct table table = {.listing = listing, .term = listing->view->term};
    uint32_t *order = pl_listing_order(listing->paths, listing->weight);
    uint32_t most = listing->paths->count < listing->view->top ? listing->paths->count : listing->view->top;
    table.line = pl_say_memory(calloc(most + 1ull, sizeof *table.line));
    fill(&table, order);
    lay_out(&table);
    put_title(&table);
    for (uint32_t i = 0; i < table.count; i++)
        put_line(&table, &table.line[i]);
    put_rest(&table, order);
    free(table.line);
    free(order);
}

/* --- by a metric --- */

static void fill_metric(const struct pl_listing *listing, uint32_t path, enum pl_metric metric, struct pl_cell *cell)
{
    const struct pl_estimate *estimate = &listing->paths->path[path].metric[metric];
    pl_figure_metric(cell->value, metric, estimate->value);
    pl_figure_error(cell->error, metric, estimate);
}

void pl_listing_fill_metric(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    fill_metric(listing, path, *(const enum pl_metric *) listing->context, cell);
}

static void fill_companion(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    fill_metric(listing, path, pl_view_companion(*(const enum pl_metric *) listing->context), cell);
}

double *pl_listing_weights(const struct pl_paths *paths, enum pl_metric metric)
{
    double *weight = pl_say_memory(calloc(paths->count + 1ull, sizeof *weight));
    for (uint32_t i = 0; i < paths->count; i++)
        weight[i] = paths->path[i].metric[metric].value;
    return weight;
}

void pl_listing_print(const struct pl_view *view, const struct pl_paths *paths, enum pl_metric metric)
{
    double *weight = pl_listing_weights(paths, metric);
    struct pl_listing listing = {
        .view = view,
        .paths = paths,
        .title = pl_view_title(view->profile, metric),
        .weight = weight,
        .whole = view->profile->total[metric].value,
        .column = {{pl_view_column(metric), pl_listing_fill_metric},
                   {pl_view_column(pl_view_companion(metric)), fill_companion}},
        .context = &metric,
    };
    pl_listing_put(&listing);
    free(weight);
}
