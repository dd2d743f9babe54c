/* SPDX-License-Identifier: MIT */
/* canvas.c - see canvas.h. */
#include "cli/top/canvas.h"

#include <stdlib.h>
#include <string.h>

#include "reader/base/grow.h"
#include "reader/base/utf8.h"

#define ELLIPSIS 0x2026u

struct pl_canvas pl_canvas_new(int rows, int columns)
{
    struct pl_canvas canvas = {.rows = rows, .columns = columns};
    canvas.cell = pl_grow_zeroed((size_t) rows * (size_t) columns + 1, sizeof *canvas.cell);
    for (int i = 0; i < rows * columns; i++)
        canvas.cell[i].character = ' ';
    return canvas;
}

void pl_canvas_free(struct pl_canvas *canvas)
{
    free(canvas->cell);
    canvas->cell = NULL;
}

static uint32_t next_character(const char **text)
{
    uint32_t character;
    *text += pl_utf8_decode(*text, &character);
    return character == PL_UTF8_BAD || character < ' ' || (character >= 0x7f && character < 0xa0) ? '?' : character;
}

static void set(struct pl_canvas *canvas, int row, int column, uint32_t character, unsigned ink)
{
    if (row >= 0 && row < canvas->rows && column >= 0 && column < canvas->columns)
        canvas->cell[row * canvas->columns + column] = (struct pl_cell){.character = character, .ink = (uint8_t) ink};
}

int pl_canvas_put(struct pl_canvas *canvas, int row, int column, int width, unsigned ink, const char *text)
{
    int end = column + width < canvas->columns ? column + width : canvas->columns;
    bool fits = column + (int) pl_utf8_width(text) <= end;
    while (*text && column < end) {
        const char *rest = text;
        uint32_t character = next_character(&rest);
        int wide = (int) pl_utf8_columns(character);
        if (!fits && column + wide >= end) {
            set(canvas, row, column++, ELLIPSIS, ink);
            break;
        }
        text = rest;
        if (!wide)
            continue;
        set(canvas, row, column, character, ink);
        if (wide == 2)
            set(canvas, row, column + 1, 0, ink);
        column += wide;
    }
    return column;
}

void pl_canvas_right(struct pl_canvas *canvas, int row, int column, int width, unsigned ink, const char *text)
{
    int wide = (int) pl_utf8_width(text);
    pl_canvas_put(canvas, row, wide < width ? column + width - wide : column, width, ink, text);
}

void pl_canvas_ink(struct pl_canvas *canvas, int row, unsigned ink)
{
    for (int i = 0; row >= 0 && row < canvas->rows && i < canvas->columns; i++)
        canvas->cell[row * canvas->columns + i].ink |= (uint8_t) ink;
}

/* ---- printing ---- */

static size_t encode(char *to, uint32_t c)
{
    if (c < 0x80)
        return to[0] = (char) c, 1;
    if (c < 0x800)
        return to[0] = (char) (0xc0 | c >> 6), to[1] = (char) (0x80 | (c & 63)), 2;
    if (c < 0x10000)
        return to[0] = (char) (0xe0 | c >> 12), to[1] = (char) (0x80 | (c >> 6 & 63)), to[2] = (char) (0x80 | (c & 63)),
               3;
    to[0] = (char) (0xf0 | c >> 18), to[1] = (char) (0x80 | (c >> 12 & 63));
    return to[2] = (char) (0x80 | (c >> 6 & 63)), to[3] = (char) (0x80 | (c & 63)), 4;
}

static int used_columns(const struct pl_canvas *canvas, int row)
{
    int used = canvas->columns;
    while (used && canvas->cell[row * canvas->columns + used - 1].character == ' ')
        used--;
    return used;
}

static int used_rows(const struct pl_canvas *canvas)
{
    int used = canvas->rows;
    while (used && !used_columns(canvas, used - 1))
        used--;
    return used;
}

void pl_canvas_print(const struct pl_canvas *canvas, struct pl_term *term)
{
    char *run = pl_grow_zeroed((size_t) canvas->columns + 1, 4);
    for (int row = 0, rows = used_rows(canvas); row < rows; row++) {
        const struct pl_cell *cell = &canvas->cell[row * canvas->columns];
        int used = used_columns(canvas, row);
        for (int from = 0, to; from < used; from = to) {
            size_t bytes = 0;
            for (to = from; to < used && cell[to].ink == cell[from].ink; to++)
                if (cell[to].character)
                    bytes += encode(run + bytes, cell[to].character);
            run[bytes] = 0;
            unsigned ink = cell[from].ink;
            pl_term_put(term, ink & PL_INK_REVERSE ? PL_STYLE_BOLD : (enum pl_style) ink, run);
        }
        pl_term_end(term);
    }
    free(run);
}
