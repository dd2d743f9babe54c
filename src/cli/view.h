/* SPDX-License-Identifier: MIT */
/*
 * view.h - what all parts of a report share: the profile, the terminal, and how a place in the code is written.
 */
#ifndef PL_VIEW_H
#define PL_VIEW_H

#include "groups.h"
#include "path.h"
#include "term.h"

struct pl_view {
    const struct pl_profile *profile; /* what is shown: `whole`, or the part of it that was selected */
    const struct pl_profile *whole;
    const char *selection;           /* which part, in words; NULL: all of it */
    const struct pl_groups *threads; /* of `profile`, as they are shown */
    struct pl_spots *spots;
    struct pl_term *term;
    const char *subject; /* the file or the pid, as one would type it */
    double threshold;    /* a fraction: what is less of the whole is not shown by itself */
    uint32_t top;
    uint32_t depth; /* frames of a stack; 0: all */
    bool full_names;
    bool brief;               /* callers have one line, and what does not fit is left out */
    bool histogram;           /* each site with its sizes, */
    struct pl_source *source; /* and with its line of source; NULL: without */
    bool *shown;              /* by path: it has been shown with its callers in a table above; NULL: nobody counts */
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
#define PL_VIEW_LOCATION_BYTES 4200 /* a path and a number */
void pl_view_location(const struct pl_spot *spot, char *out, size_t bytes);

/* `before` (an arrow, or nothing), name, location and module: behind a blank on this line or, where they do not fit, on
 * lines indented by `indent`. */
void pl_view_spot(struct pl_term *term, const char *before, const struct pl_spot *spot, size_t indent, bool module);

/* The first spot of a path and what of a library it called; the others, and a sign where it was cut at the depth asked
 * for. */
void pl_view_site(const struct pl_view *view, const struct pl_path *path, size_t indent);
void pl_view_callers(const struct pl_view *view, const struct pl_path *path, size_t indent);

/* pl_paths_new(), which takes its time where stacks are many: a terminal is told. */
struct pl_paths pl_view_paths(const struct pl_view *view, enum pl_shape shape);

/* Lines of their own below a site, where they were asked for: its sizes, and what the source says there. */
void pl_view_below(const struct pl_view *view, const struct pl_paths *paths, uint32_t path, size_t indent);

/* A paragraph of its own, and the title of a part of the report. Both begin with an empty line. */
void pl_view_paragraph(const struct pl_view *view, const char *format, ...) PL_PRINTF(2, 3);
void pl_view_heading(const struct pl_view *view, const char *title);

/* A paragraph instead of a view that has nothing to show, with what to do about it. */
void pl_view_nothing(const struct pl_view *view, const char *what);

/* Some figures are estimates. Samples of every byte there is are as good as counts. */
bool pl_view_estimated(const struct pl_profile *profile);

/* Figures of threads are behind what they do: while samples are taken a thread writes them down when it takes one, and
 * this one did not get to its end, or was copied before. */
bool pl_view_behind(const struct pl_profile *profile);
#define PL_VIEW_BEHIND "up to each thread's last look, at most one sampling interval ago"

/* Threads, scopes or records are missing, so that even calls and bytes are too low, or charged to another tag. */
bool pl_view_lossy(const struct pl_profile *profile);

/* Something is known by site, or there was nothing to know. */
bool pl_view_recorded(const struct pl_profile *profile);

/* The program said what its memory is for. */
bool pl_view_tagged(const struct pl_profile *profile);

/* Has a duration that means something. Of a process that was killed with nobody there only a lower bound is known. */
bool pl_view_timed(const struct pl_profile *profile);

#endif
