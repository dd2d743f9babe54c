/* SPDX-License-Identifier: MIT */
/*
 * views.h - the views of a report: what each of them is given, and the functions that print them.
 *
 * The table VIEWS in report.c says which option shows which view. Views with options of their own, or with functions
 * that others use, have a header: leaks.h, listing.h, tagview.h.
 */
#ifndef PL_VIEWS_H
#define PL_VIEWS_H

#include "analysis/path.h"
#include "cli/term.h"
#include "analysis/groups.h"
#include "reach/memory/written.h"

/* Which pages the program has written while it was watched, and for how long that was. */
struct pl_watch {
    struct pl_written written;
    double seconds;
};
#define PL_WATCH_NONE                                                                                                  \
    {                                                                                                                  \
        .written = {.fd = -1 }                                                                                         \
    }

struct pl_view {
    const struct pl_profile *profile; /* what is shown: `whole`, or the part of it that was selected */
    const struct pl_profile *whole;
    const char *selection;           /* which part, in words; NULL: all of it */
    const struct pl_groups *threads; /* of `profile`, grouped as they are shown */
    struct pl_locations *locations;
    struct pl_term *term;
    const char *subject; /* the file or the pid, as the user would type it */
    double threshold;    /* a fraction: an item with a smaller share gets no line of its own */
    uint32_t top;
    uint32_t depth; /* frames of a stack; 0: all */
    bool full_names;
    bool brief;                   /* callers get one line; those that do not fit are left out */
    bool histogram;               /* print the sizes of each site */
    bool source;                  /* print the source line of each site */
    const struct pl_watch *watch; /* --touched */
    bool *shown;                  /* by path: a table above has printed it with its callers; NULL: not tracked */
};

/* The first lines of every report, and the last: which process it is about and how it was recorded; what was lost. */
void pl_head_print(const struct pl_view *view);
void pl_head_losses(const struct pl_view *view);

/* Parts of the overview: the totals; what stands out, in sentences (`sites` are of shape PL_SHAPE_SITE); a table of the
 * threads. */
void pl_keyfigures_print(const struct pl_view *view);
void pl_highlights_print(const struct pl_view *view, const struct pl_paths *sites);
void pl_threads_print_table(const struct pl_view *view);

/* Views of all sites. */
void pl_advise_print(const struct pl_view *view); /* --advice */
struct pl_advice_touch;
void pl_advise_memory(const struct pl_view *view, const struct pl_advice_touch *touch); /* the part about memory */
void pl_rankings_peak(const struct pl_view *view);                                      /* --peak */
void pl_rankings_temporary(const struct pl_view *view);                                 /* --temporary */
void pl_rankings_reallocs(const struct pl_view *view);                                  /* --reallocs */
void pl_timeline_print(const struct pl_view *view);                                     /* --timeline */
void pl_sizes_print(const struct pl_view *view);                                        /* --sizes */

/* --tree and --reverse: the call tree of these paths. */
void pl_tree_print(const struct pl_view *view, const struct pl_paths *paths, enum pl_metric metric);

/* --by thread. Sorts threads and their sites by this metric, heaviest first. */
void pl_threads_print(const struct pl_view *view, enum pl_metric metric);

#endif
