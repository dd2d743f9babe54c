/* SPDX-License-Identifier: MIT */
/*
 * view.h - what all parts of a report share: the profile, the terminal, and how a place in the code is written.
 */
#ifndef PL_VIEW_H
#define PL_VIEW_H

#include "path.h"
#include "term.h"

struct pl_view {
    const struct pl_profile *profile;
    struct pl_spots *spots;
    struct pl_term *term;
    const char *subject; /* the file or the pid, as one would type it */
    double threshold;    /* a fraction: what is less of the whole is not shown by itself */
    uint32_t top;
    uint32_t depth; /* frames of a stack; 0: all */
};

/* "live", "never freed", "live when it ended": what the figures of blocks in use mean for this process. */
const char *pl_view_live_word(const struct pl_profile *profile);

/* The metric that says the same in the other unit: bytes for calls, blocks for live bytes. Temporaries have all calls.
 */
enum pl_metric pl_view_companion(enum pl_metric metric);

/* "Never freed", "Allocated", "Calls": the title of a view of this metric. */
const char *pl_view_title(const struct pl_profile *profile, enum pl_metric metric);

/* The title of a column of it: "bytes", "blocks", "calls". */
const char *pl_view_column(enum pl_metric metric);

double pl_view_share(const struct pl_profile *profile, enum pl_metric metric, double value);

enum pl_style pl_view_style(const struct pl_spot *spot);

/* "src/index.c:212", or "" when the file is unknown. */
void pl_view_location(const struct pl_spot *spot, char *out, size_t bytes);

/* `before` (an arrow, or nothing), name, location and module: behind a blank on this line or, where they do not fit, on
 * lines indented by `indent`. */
void pl_view_spot(struct pl_term *term, const char *before, const struct pl_spot *spot, size_t indent, bool module);

/* Where a stack goes on that was cut at the depth asked for. */
void pl_view_more(struct pl_term *term, size_t indent);

/* A paragraph of its own, and the title of a part of the report. Both begin with an empty line. */
void pl_view_paragraph(const struct pl_view *view, const char *format, ...) PL_PRINTF(2, 3);
void pl_view_heading(const struct pl_view *view, const char *title);

/* A paragraph instead of a view that has nothing to show, with what to do about it. */
void pl_view_nothing(const struct pl_view *view, const char *what);

/* Some figures are estimates. Samples of every byte there is are as good as counts. */
bool pl_view_estimated(const struct pl_profile *profile);

/* Something is known by site, or there was nothing to know. */
bool pl_view_recorded(const struct pl_profile *profile);

/* Has a duration that means something. Of a process that was killed with nobody there only a lower bound is known. */
bool pl_view_timed(const struct pl_profile *profile);

#endif
