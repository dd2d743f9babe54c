/* SPDX-License-Identifier: MIT */
/*
 * families.h - suspected leaks that belong together.
 *
 * An object that leaks takes along everything that it owns: its strings, its vectors, its map. That is one leak with
 * many sites. Sites form a family if their blocks survive from the same times, and one function of the program calls
 * all of them, or is one of them, within a few calls.
 */
#ifndef PL_FAMILIES_H
#define PL_FAMILIES_H

#include "analysis/leaks/leftovers.h"
#include "analysis/path.h"

struct pl_family {
    uint32_t first, count;    /* leftovers->item[first] .. , the heaviest first */
    uint32_t owner;           /* the location that calls all of them; PL_PATH_NO_LOCATION: there is one site only */
    struct pl_leftover whole; /* the first item, with the figures of all */
};

struct pl_families {
    struct pl_family *family; /* the heaviest first */
    uint32_t count;
};

/* Sorts the suspected leaks by family. Groups of leftovers are paths of shape PL_SHAPE_SITE. The arrays live in the
 * arena of `leftovers`. */
struct pl_families pl_families_new(struct pl_leftovers *leftovers, const struct pl_paths *paths,
                                   const struct pl_locations *locations);

#endif
