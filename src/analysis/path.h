/* SPDX-License-Identifier: MIT */
/*
 * path.h - the stacks of a profile as sequences of spots, sorted and folded, in the shape that a view needs.
 *
 * Folding is sorting: sites whose stacks come out the same are neighbours afterwards, and become one path whose sums
 * are theirs added up. What looks the same in a report is therefore one line of it, whichever threads and addresses it
 * had.
 */
#ifndef PL_PATH_H
#define PL_PATH_H

#include "spot.h"

enum pl_shape {
    PL_SHAPE_SITE,    /* from the first frame that is the reader's own, outward; of libraries what was called */
    PL_SHAPE_OWN,     /* that frame alone */
    PL_SHAPE_ROOTS,   /* from main and thread functions, inward; likewise */
    PL_SHAPE_REVERSE, /* from whoever called the allocator, outward */
};

#define PL_PATH_NO_SPOT UINT32_MAX

struct pl_path {
    const uint32_t *spot;
    uint32_t count;
    uint32_t via; /* PL_SHAPE_SITE: what the first spot called, by name, if that was a library; else PL_PATH_NO_SPOT */
    uint32_t stacks; /* that look like this */
    bool more;       /* cut at the depth asked for */
    uint32_t made;   /* the how-manieth it was before sorting */
    struct pl_figures figures;
    struct pl_figures *base;                    /* of a difference: what it is compared with; NULL: nothing */
    struct pl_estimate metric[PL_METRIC_COUNT]; /* of a difference: the change, which may be negative */
};

/* In lexical order of their spots. */
struct pl_paths {
    struct pl_path *path;
    uint32_t count;
    uint32_t *of_site; /* the path that a site of the profile belongs to */
};

/* `depth` 0: no bound. The arrays live in the arena of `spots`. */
struct pl_paths pl_paths_new(const struct pl_profile *profile, struct pl_spots *spots, enum pl_shape shape,
                             uint32_t depth);

/* Of the spots of a stack, innermost first, the one that the site is named after: the first that is the reader's own.
 */
uint32_t pl_path_own(const struct pl_spots *spots, const uint32_t *spot, uint32_t count);

/* Of the spots of a stack, innermost first and at least one, those that reports show: from `inner`, whoever called the
 * allocator, to `outer`, main or a thread's function. `own` is as above, and between them. */
struct pl_path_usual {
    uint32_t inner, own, outer;
};
struct pl_path_usual pl_path_usual(const struct pl_spots *spots, const uint32_t *spot, uint32_t count);

/* Metrics of figures that were added up, less those of a base if there is one. */
void pl_paths_estimate(const struct pl_figures *figures, const struct pl_figures *base,
                       struct pl_estimate metric[PL_METRIC_COUNT]);

/* Sizes, lifetimes, reallocs: large, and asked for by few views, so added up for one path at a time. */
struct pl_spread pl_paths_spread(const struct pl_profile *profile, const struct pl_paths *paths, uint32_t path);

#endif
