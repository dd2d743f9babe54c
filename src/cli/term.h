/* SPDX-License-Identifier: MIT */
/*
 * term.h - text for a terminal: columns, colours and its width.
 *
 * A struct pl_term counts the columns it has written on the current line, as a terminal shows the characters, so tables
 * line up whatever the names in them are. In a pipe it writes the same text without colours.
 */
#ifndef PL_TERM_H
#define PL_TERM_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/say.h"

enum pl_style {
    PL_STYLE_PLAIN,
    PL_STYLE_BOLD, /* the user's own code */
    PL_STYLE_DIM,  /* less important text */
    PL_STYLE_HEAD, /* titles */
    PL_STYLE_BAR,
    PL_STYLE_WARN,
    PL_STYLE_COUNT,
};

/* In the order of the words of --color. */
enum pl_colour {
    PL_COLOUR_AUTO,
    PL_COLOUR_ALWAYS,
    PL_COLOUR_NEVER,
};
extern const char *const pl_term_colours[];

/* A row of a command's table of options. */
#define PL_COLOUR_OPTION(given)                                                                                        \
    {                                                                                                                  \
        .name = "color", .takes = "WHEN", .fallback = "auto",                                                          \
        .help = "use colours: auto (on a terminal, unless NO_COLOR is set), always or never", .type = &pl_type_choice, \
        .into = &(given), .choices = pl_term_colours                                                                   \
    }

struct pl_term {
    FILE *out;
    bool colour;
    bool whole;    /* pl_term_cut() cuts nothing, and lines may be longer than the width */
    size_t width;  /* of the terminal, in columns */
    size_t column; /* columns written on this line */
};

/* For stdout on a terminal, it also starts the pager. */
struct pl_term pl_term_open(FILE *out, enum pl_colour colour);

/* Does a person see it, on a terminal or in the pager? */
bool pl_term_shown(const struct pl_term *term);

void pl_term_put(struct pl_term *term, enum pl_style style, const char *text);
void pl_term_print(struct pl_term *term, enum pl_style style, const char *format, ...) PL_PRINTF(3, 4);
void pl_term_cut(struct pl_term *term, enum pl_style style, const char *text, size_t columns); /* … when cut */
void pl_term_right(struct pl_term *term, enum pl_style style, const char *text, size_t columns);
void pl_term_pad(struct pl_term *term, size_t column); /* blanks up to a column */
void pl_term_end(struct pl_term *term);                /* end of line */

/* Makes room for `columns` more: adds a gap, or starts a new line if they do not fit on this one. */
void pl_term_room(struct pl_term *term, size_t gap, size_t columns, size_t indent);

/* Continues this line word by word; the lines after it are indented by `indent` blanks. */
void pl_term_words(struct pl_term *term, enum pl_style style, const char *text, size_t indent);

/* A bar of at most `columns`, in eighths of a column. */
void pl_term_bar(struct pl_term *term, double fraction, size_t columns);

/* Paragraphs, filled to the width and indented by `indent` blanks. An empty line separates them. */
void pl_term_fill(struct pl_term *term, const char *text, size_t indent);

/* A progress bar on stderr, if that is a terminal and the work takes longer than 0.3 s. */
void pl_term_progress(void *what, double fraction); /* `what` is a const char *; a fraction of 1 removes the bar */

/*
 * For work without a known length: shows what is being done, and for how long. The handler of a timer's signal updates
 * it, so the work itself needs no calls. NULL removes it; that must happen before any other message.
 */
void pl_term_busy(const char *what);

#endif
