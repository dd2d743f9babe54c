/* SPDX-License-Identifier: MIT */
/*
 * plot.c - curves over time in a terminal.
 */
#include "cli/report/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/utf8.h"

#define LABEL_WIDTH 11
#define SHADE_LEAST 4 /* eighths: shades fill whole lines */
#define TICK_LEAST 11 /* columns from one label to the next: they must not touch */

struct pl_plot pl_plot_new(struct pl_term *term, double end_s)
{
    size_t left = LABEL_WIDTH + 2, columns = term->width > left + 10 ? term->width - left - 1 : 10;
    return (struct pl_plot){term, left, columns < PL_PLOT_COLUMNS ? columns : PL_PLOT_COLUMNS, end_s};
}

size_t pl_plot_column(const struct pl_plot *plot, double seconds)
{
    double at = plot->end_s > 0 ? seconds / plot->end_s * (double) plot->columns : 0;
    return at >= (double) plot->columns ? plot->columns - 1 : at > 0 ? (size_t) at : 0;
}

double pl_plot_time(const struct pl_plot *plot, size_t column)
{
    return plot->end_s * (double) column / (double) plot->columns;
}

/* --- the curve --- */

/* How many eighths of line `row` (0: the bottom) the value fills. A value above 0 fills at least one of the bottom. */
static unsigned eighths_in(double value, double top, unsigned rows, unsigned row)
{
    double full = top > 0 && value > 0 ? fmin(value / top, 1) * rows * 8 : 0;
    double here = fmax(round(full), value > 0 ? 1 : 0) - 8.0 * row;
    return (unsigned) fmin(fmax(here, 0), 8);
}

static void put_row(const struct pl_plot *plot, const struct pl_curve *curve, unsigned row)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    char line[3 * PL_PLOT_COLUMNS + 1], *to = line, *end = line;
    for (size_t c = 0; c < plot->columns; c++) {
        unsigned eighths = eighths_in(curve->value[c], curve->top, curve->rows, row);
        bool shaded = curve->shade && eighths_in(curve->shade[c], curve->top, curve->rows, row) >= SHADE_LEAST;
        to = stpcpy(to, !eighths && shaded ? PL_PLOT_SHADE : blocks[eighths]);
        if (eighths || shaded)
            end = to;
    }
    *end = 0; /* no blanks at the end of a line */
    pl_term_put(plot->term, PL_STYLE_BAR, line);
}

/* Labels the top line and, if there are enough lines, the middle. The bottom line has the curve's name. */
static void put_label(const struct pl_plot *plot, const struct pl_curve *curve, unsigned row)
{
    char label[PL_FIGURE_BYTES] = "";
    unsigned rows = curve->rows;
    bool middle = rows >= 6 && rows % 2 == 0 && row + 1 == rows / 2;
    if (row + 1 == rows)
        curve->figure(label, curve->top);
    else if (middle)
        curve->figure(label, curve->top / 2);
    else if (row == 0)
        snprintf(label, sizeof label, "%s", curve->name);
    pl_term_right(plot->term, row ? PL_STYLE_PLAIN : PL_STYLE_BOLD, label, plot->left - 2);
    pl_term_put(plot->term, PL_STYLE_DIM, row + 1 == rows || middle ? " ┤" : " │");
}

void pl_plot_curve(const struct pl_plot *plot, const struct pl_curve *curve)
{
    for (unsigned row = curve->rows; row-- > 0;) {
        put_label(plot, curve, row);
        put_row(plot, curve, row);
        pl_term_end(plot->term);
    }
}

/* The text goes after the mark if it fits there, else before it, else on its own line. */
void pl_plot_mark(const struct pl_plot *plot, size_t column, const char *mark, const char *text)
{
    struct pl_term *term = plot->term;
    size_t at = plot->left + column, width = pl_utf8_width(text);
    bool behind = at + 2 + width <= term->width, before = !behind && at > width;
    if (!behind && !before) {
        pl_term_pad(term, plot->left);
        pl_term_put(term, PL_STYLE_BOLD, text);
        pl_term_end(term);
    }
    pl_term_pad(term, before ? at - width - 1 : at);
    pl_term_print(term, PL_STYLE_BOLD, "%s%s%s%s%s", before ? text : "", before ? " " : "", mark, behind ? " " : "",
                  behind ? text : "");
    pl_term_end(term);
}

/* --- the axis --- */

/* The shortest round time step that leaves room for the labels. */
static double tick_step(const struct pl_plot *plot)
{
    static const double steps[] = {1,   2,    5,    10,   15,    30,    60,    120,   300,   600,
                                   900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800};
    double least = plot->end_s * TICK_LEAST / (double) plot->columns;
    double scale = pow(10, floor(log10(fmax(least, 1e-9))));
    for (int i = 0; least < 1 && i < 4; i++)
        if (steps[i] * scale >= least)
            return steps[i] * scale;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] >= least)
            return steps[i];
    return ceil(least / 86400) * 86400;
}

void pl_plot_axis(const struct pl_plot *plot)
{
    struct pl_term *term = plot->term;
    double step = tick_step(plot);
    pl_term_pad(term, plot->left - 1);
    pl_term_put(term, PL_STYLE_DIM, "└");
    for (size_t c = 0, next = 1; c < plot->columns; c++) {
        bool tick = (double) next * step <= plot->end_s && c == pl_plot_column(plot, (double) next * step);
        pl_term_put(term, PL_STYLE_DIM, tick ? "┬" : "─");
        next += tick;
    }
    pl_term_end(term);
    for (size_t i = 0; (double) i * step <= plot->end_s; i++) {
        char label[PL_FIGURE_BYTES];
        pl_figure_span(label, (double) i * step);
        size_t at = plot->left + pl_plot_column(plot, (double) i * step), width = pl_utf8_width(label);
        at -= i ? width / 2 : 1;
        if (at + width > term->width)
            break;
        pl_term_pad(term, at);
        pl_term_put(term, PL_STYLE_PLAIN, label);
    }
    pl_term_end(term);
}
