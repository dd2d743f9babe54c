/* SPDX-License-Identifier: MIT */
/*
 * path.h - the stacks of a profile as sequences of locations, sorted and folded, in the shape that a view needs.
 *
 * Sites whose stacks yield the same locations are neighbours after sorting, and become one path with the sum of their
 * figures. So sites that look the same in a report share one line, whatever their threads and addresses.
 */
#ifndef PL_PATH_H
#define PL_PATH_H

#include "analysis/location.h"

enum pl_shape {
    PL_SHAPE_SITE,    /* from the innermost frame of the program's own, outward; a library is one location, its entry */
    PL_SHAPE_OWN,     /* that frame alone */
    PL_SHAPE_ROOTS,   /* from main and thread functions, inward; a library is one location */
    PL_SHAPE_REVERSE, /* from the caller of the allocator, outward */
};

#define PL_PATH_NO_LOCATION UINT32_MAX

struct pl_path {
    const uint32_t *location;
    uint32_t count;
    uint32_t via;    /* PL_SHAPE_SITE: the library function that the first location called; PL_PATH_NO_LOCATION: none */
    uint32_t stacks; /* how many stacks look like this */
    bool more;       /* truncated at the requested depth */
    struct pl_figures figures;
    struct pl_figures *base;                    /* of a difference: the figures of the first profile; NULL: none */
    struct pl_estimate metric[PL_METRIC_COUNT]; /* of a difference: the change, which may be negative */
};

/* In lexical order of their locations. */
struct pl_paths {
    struct pl_path *path;
    uint32_t count;
    uint32_t *of_site; /* the path that a site of the profile belongs to */
};

/* `depth` 0: no limit. The arrays live in the arena of `locations`. */
struct pl_paths pl_paths_new(const struct pl_profile *profile, struct pl_locations *locations, enum pl_shape shape,
                             uint32_t depth);

/* The index of the location that a site is named after: the innermost of the program's own. `location` are the
 * locations of a stack, innermost first. */
uint32_t pl_path_own(const struct pl_locations *locations, const uint32_t *location, uint32_t count);

/* The range of locations that reports show, as indexes into the locations of a stack (innermost first, at least one):
 * from `inner`, the caller of the allocator, to `outer`, main or a thread's function. `own` is as above, and between
 * them. */
struct pl_path_usual {
    uint32_t inner, own, outer;
};
struct pl_path_usual pl_path_usual(const struct pl_locations *locations, const uint32_t *location, uint32_t count);

/* Metrics of a sum of figures, minus those of the base if there is one. */
void pl_paths_estimate(const struct pl_figures *figures, const struct pl_figures *base,
                       struct pl_estimate metric[PL_METRIC_COUNT]);

/* Sizes, lifetimes and reallocs of one path. They are large and few views need them, so paths do not store them. */
struct pl_spread pl_paths_spread(const struct pl_profile *profile, const struct pl_paths *paths, uint32_t path);

/* Which path each stack belongs to: the groups that leftovers.h judges by. One element for each stack, and a last one
 * for sites without a stack. The caller frees it. */
uint32_t *pl_paths_of_stacks(const struct pl_profile *profile, const struct pl_paths *paths);

#endif
