/* SPDX-License-Identifier: MIT */
/*
 * canvas.h - a grid of characters to draw on. The screen is drawn here; a terminal, a pipe or a file then shows it.
 */
#ifndef PL_CANVAS_H
#define PL_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/term.h"

#define PL_INK_REVERSE 0x80u /* added to a style: the cursor and the current tab */

struct pl_cell {
    uint32_t character; /* 0: the right half of a wide one */
    uint8_t ink;        /* enum pl_style, perhaps with PL_INK_REVERSE */
};

struct pl_canvas {
    int rows, columns;
    struct pl_cell *cell;
};

struct pl_canvas pl_canvas_new(int rows, int columns);
void pl_canvas_free(struct pl_canvas *canvas);

/* Writes UTF-8, cut with … at `width` columns; what lies outside of the canvas is not drawn. Returns the column after
 * it. Control characters and invalid bytes become ?. */
int pl_canvas_put(struct pl_canvas *canvas, int row, int column, int width, unsigned ink, const char *text);
void pl_canvas_right(struct pl_canvas *canvas, int row, int column, int width, unsigned ink, const char *text);
void pl_canvas_ink(struct pl_canvas *canvas, int row, unsigned ink); /* of a whole row: adds PL_INK_REVERSE */

/* Prints the rows up to the last that is not empty, without blanks at their ends. */
void pl_canvas_print(const struct pl_canvas *canvas, struct pl_term *term);

#endif
