/* SPDX-License-Identifier: MIT */
/* help.c - the keys of `plimsoll top`, on as many pages as the terminal needs. */
#include <stdio.h>
#include <string.h>

#include "cli/top/keys.h"
#include "reader/base/utf8.h"

#define LINE_BYTES 512

/* Lines from `column` on, broken between words. Those outside of rows 0 to end - 1 are only counted. */
static int put_lines(struct pl_canvas *canvas, int row, int end, int column, unsigned ink, const char *text)
{
    char line[LINE_BYTES];
    size_t room = canvas->columns - column >= 8 ? (size_t) (canvas->columns - column) : 8;
    room = room < sizeof line ? room : sizeof line - 1;
    do {
        size_t bytes = strlen(text);
        for (size_t i = bytes; pl_utf8_width(text) > room && i > 0 && bytes > room; i--)
            if (text[i] == ' ')
                bytes = i;
        snprintf(line, sizeof line, "%.*s", (int) bytes, text);
        if (row >= 0 && row < end)
            pl_canvas_put(canvas, row, column, canvas->columns, ink, line);
        text += bytes + (text[bytes] == ' ');
        row++;
    } while (*text);
    return row;
}

/* Returns the row behind it. */
static int draw_help_from(struct pl_canvas *canvas, int row, int end)
{
    static const char notes[] =
        "LIVE and PEAK are bytes. CHANGE, ALLOC/S and CALLS/S compare with the last refresh, or "
        "with the time when you pressed r. ± = 95% confidence, of the column that decides the "
        "order; ~ marks other estimates.";
    row = put_lines(canvas, row, end, 0, PL_STYLE_HEAD, "Keys");
    for (const struct pl_key *key = pl_keys; key->help; key++) {
        if (row >= 0 && row < end)
            pl_canvas_put(canvas, row, 2, 14, PL_STYLE_BOLD, key->shown);
        row = put_lines(canvas, row, end, 17, PL_STYLE_PLAIN, key->help);
    }
    return put_lines(canvas, row + 1, end, 0, PL_STYLE_DIM, notes);
}

/* A small terminal shows one page after the other. */
void pl_screen_draw_help(struct pl_screen *screen, struct pl_canvas *canvas)
{
    int lines = draw_help_from(canvas, 0, 0), page = canvas->rows > 1 ? canvas->rows - 1 : 1;
    if (lines <= canvas->rows)
        page = canvas->rows;
    int pages = (lines + page - 1) / page;
    screen->help = screen->help < pages ? screen->help : pages; /* the terminal may have become larger */
    screen->more_help = screen->help < pages;
    draw_help_from(canvas, -(screen->help - 1) * page, page);
    if (screen->more_help)
        pl_canvas_put(canvas, page, 0, canvas->columns, PL_STYLE_BOLD, "any key: more   Esc: end of help");
}
