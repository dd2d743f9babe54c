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
    double threshold; /* a fraction: what is less of the whole is not shown by itself */
    uint32_t top;
    uint32_t depth; /* frames of a stack; 0: all */
};

/* "live", "never freed", "live when it ended": what the figures of blocks in use mean for this process. */
const char *pl_view_live_word(const struct pl_profile *profile);

/* The metric that says the same in the other unit: bytes for calls, blocks for live bytes. */
enum pl_metric pl_view_companion(enum pl_metric metric);

/* "Never freed", "Allocated", "Calls": the title of a view of this metric. */
const char *pl_view_title(const struct pl_profile *profile, enum pl_metric metric);

double pl_view_share(const struct pl_profile *profile, enum pl_metric metric, double value);

enum pl_style pl_view_style(const struct pl_spot *spot);

/* "src/index.c:212", or "" when the file is unknown. */
void pl_view_location(const struct pl_spot *spot, char *out, size_t bytes);

/* `before` (an arrow, or nothing), name, location and module: behind a blank on this line or, where they do not fit, on
 * lines indented by `indent`. */
void pl_view_spot(struct pl_term *term, const char *before, const struct pl_spot *spot, size_t indent, bool module);

#endif
