/* SPDX-License-Identifier: MIT */
/*
 * plot.h - curves over time in a terminal: filled, in eighths of a line, with labels at the left and times below.
 *
 *            ▼
 *   31.4 MiB ┤          ▂▅█▇▅▃▁
 *   15.7 MiB ┤    ▃▅▇███████████▆▅▄▃▂▁
 *            └──────────┬──────────┬──
 *            0         5 s       10 s
 */
#ifndef PL_PLOT_H
#define PL_PLOT_H

#include "figure.h"
#include "term.h"

#define PL_PLOT_COLUMNS 240 /* at most */

struct pl_plot {
    struct pl_term *term;
    size_t left;    /* columns for labels */
    size_t columns; /* of the curve */
    double end_s;   /* time at its right end; it begins with 0 */
};

struct pl_plot pl_plot_new(struct pl_term *term, double end_s);

/* The column of a moment, and the moment at which a column begins. */
size_t pl_plot_column(const struct pl_plot *plot, double seconds);
double pl_plot_time(const struct pl_plot *plot, size_t column);

/* A curve of `rows` lines, `top` reaching up to the first. One value for each column. */
void pl_plot_curve(const struct pl_plot *plot, const double *value, double top, unsigned rows, const char *name,
                   void (*figure)(char out[PL_FIGURE_BYTES], double value));

/* A line with a mark in this column and a text beside it. */
void pl_plot_mark(const struct pl_plot *plot, size_t column, const char *mark, const char *text);

void pl_plot_axis(const struct pl_plot *plot);

#endif
