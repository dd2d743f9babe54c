/* SPDX-License-Identifier: MIT */
/*
 * term.h - text for people: columns, colours, and the width there is.
 *
 * A struct pl_term counts the columns it has written on the current line, in characters as a terminal shows them, so
 * tables line up whatever the names in them are. In a pipe it writes the same text without colours.
 */
#ifndef PL_TERM_H
#define PL_TERM_H

#include <stdbool.h>
#include <stdio.h>

#include "say.h"

enum pl_style {
    PL_STYLE_PLAIN,
    PL_STYLE_BOLD, /* the reader's own code */
    PL_STYLE_DIM,  /* what is there for completeness */
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
extern const char *const pl_colour_words[];

/* A row of a command's table of options. */
#define PL_COLOUR_OPTION(given)                                                                                        \
    {                                                                                                                  \
        .name = "color", .takes = "WHEN", .fallback = "auto",                                                          \
        .help = "colours: auto (on a terminal, unless NO_COLOR is set), always or never", .type = &pl_type_choice,     \
        .into = &(given), .choices = pl_colour_words                                                                   \
    }

struct pl_term {
    FILE *out;
    bool colour;
    bool whole;    /* nothing is cut: lines are as long as what is on them */
    size_t width;  /* columns there are */
    size_t column; /* columns written on this line */
};

struct pl_term pl_term_open(FILE *out, enum pl_colour colour);

void pl_term_put(struct pl_term *term, enum pl_style style, const char *text);
void pl_term_print(struct pl_term *term, enum pl_style style, const char *format, ...) PL_PRINTF(3, 4);
void pl_term_cut(struct pl_term *term, enum pl_style style, const char *text, size_t columns); /* … when cut */
void pl_term_right(struct pl_term *term, enum pl_style style, const char *text, size_t columns);
void pl_term_pad(struct pl_term *term, size_t column); /* blanks up to a column */
void pl_term_end(struct pl_term *term);                /* end of line */

/* Separates what comes, of so many columns, from what is there: by a gap, or by a new line if it would not fit. */
void pl_term_room(struct pl_term *term, size_t gap, size_t columns, size_t indent);

/* Goes on with this line word by word; lines that follow begin behind `indent` blanks. */
void pl_term_words(struct pl_term *term, enum pl_style style, const char *text, size_t indent);

/* A bar of at most `columns`, in eighths of a column. */
void pl_term_bar(struct pl_term *term, double fraction, size_t columns);

/* Paragraphs, filled to the width behind `indent` blanks. An empty line separates them. */
void pl_term_fill(struct pl_term *term, const char *text, size_t indent);

/* A progress bar on stderr, when that is a terminal and the work takes longer than a blink. */
void pl_term_progress(void *what, double fraction); /* `what` is a const char *; a fraction of 1 takes the bar away */

/*
 * The same for work that cannot tell how far it has come: what is being done, and for how long. A timer's signal shows
 * it, so that nobody else need take part; NULL takes it away, and must before anything else is said.
 */
void pl_term_busy(const char *what);

#endif
