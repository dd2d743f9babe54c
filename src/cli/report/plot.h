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

#include "analysis/figure.h"
#include "cli/term.h"

#define PL_PLOT_COLUMNS 240 /* at most */

struct pl_plot {
    struct pl_term *term;
    size_t left;    /* columns for labels */
    size_t columns; /* of the curve */
    double end_s;   /* time at its right end; it begins with 0 */
};

struct pl_plot pl_plot_new(struct pl_term *term, double end_s);

/* The column of a time, and the time at which a column begins. */
size_t pl_plot_column(const struct pl_plot *plot, double seconds);
double pl_plot_time(const struct pl_plot *plot, size_t column);

/* One value for each column. A value of `top` reaches the first of `rows` lines. */
struct pl_curve {
    const char *name;
    const double *value;
    const double *shade; /* a second curve behind it, on the same axis; NULL: none */
    double top;
    unsigned rows;
    void (*figure)(char out[PL_FIGURE_BYTES], double value);
};
#define PL_PLOT_SHADE "░"
void pl_plot_curve(const struct pl_plot *plot, const struct pl_curve *curve);

/* A line with a mark in this column and a text beside it. */
void pl_plot_mark(const struct pl_plot *plot, size_t column, const char *mark, const char *text);

void pl_plot_axis(const struct pl_plot *plot);

#endif
