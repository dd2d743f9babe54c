/* SPDX-License-Identifier: MIT */
/*
 * screen.h - draws what `plimsoll top` shows: the head, the table, the list of processes, help.
 *
 * A view is what the user has chosen. Drawing does not change it, but for what depends on the size of the screen: which
 * rows are visible.
 */
#ifndef PL_SCREEN_H
#define PL_SCREEN_H

#include <sys/types.h>

#include "cli/top/canvas.h"
#include "cli/top/model.h"

#define PL_FILTER_BYTES 128

/* A process of the list. */
struct pl_listed {
    pid_t pid;
    char *command, *method;
    double up_s, live_bytes, live_error, rss_bytes;
};

struct pl_screen {
    pid_t pid;
    struct pl_model *model; /* NULL: no process was chosen yet */
    enum pl_model_by by;
    enum pl_model_column order;
    bool reversed;
    char filter[PL_FILTER_BYTES];
    bool typing; /* the filter */
    bool frozen;
    int help;       /* the page of help that is shown, from 1; 0: none */
    bool more_help; /* there are further pages */
    bool listing;
    const char *ended;  /* how the process ended; NULL: it runs */
    const char *notice; /* one line for the user; NULL: none */
    double interval_s;  /* between refreshes, as it is: long readings make it longer */
    bool plain;         /* one screen for a pipe: no cursor and no keys */
    bool whole;         /* all rows, whatever the size */

    uint32_t cursor;     /* subject of the row, PL_ATLAS_NONE: the first */
    int first;           /* row of the table that is the first visible one */
    int page;            /* how many rows were visible */
    uint32_t *expanded;  /* subjects, sorted by time */
    uint32_t expansions; /* how many */

    struct pl_listed *listed;
    size_t listed_count, listed_at;
};

extern const char *const pl_screen_by[];    /* "sites", "functions", ... */
extern const char *const pl_screen_order[]; /* "live", "change", ... */

void pl_screen_draw(struct pl_screen *screen, struct pl_canvas *canvas);

/* help.c: the keys, on the page screen->help. */
void pl_screen_draw_help(struct pl_screen *screen, struct pl_canvas *canvas);

/* Moves the cursor by so many rows. */
void pl_screen_move(struct pl_screen *screen, int rows);

/* Expands the row under the cursor, or folds it. */
void pl_screen_toggle(struct pl_screen *screen);
bool pl_screen_is_expanded(const struct pl_screen *screen, uint32_t subject);

#endif
