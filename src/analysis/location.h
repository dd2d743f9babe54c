/* SPDX-License-Identifier: MIT */
/*
 * location.h - the places of a profile as reports print them, without duplicates.
 *
 * Many addresses are the same place to a reader: the same function and line. A location stands for all of them, and has
 * the name and the file as they will be printed. Folding, sorting and printing then work with indexes of locations.
 */
#ifndef PL_LOCATION_H
#define PL_LOCATION_H

#include "analysis/role.h"
#include "reader/base/arena.h"
#include "reader/profile.h"

struct pl_location {
    const char *name;
    const char *common; /* the name that is the same in all builds, for comparisons; may be shorter than `name` */
    bool renumbered;    /* `common` has lost the number of a lambda: `full` may differ between builds */
    const char *home;   /* the file that tells it from other functions of its name, for comparisons; "" if none does */
    const char *file;   /* "" if unknown */
    uint32_t line;
    const char *module; /* as pl_traits_module() names it; "" for none */
    enum pl_role role;
    enum pl_language language;
    const char *source, *binary; /* full paths of file and module, as in the profile; "" if unknown */
    const char *full;            /* the function's complete name; "" if unknown: `name` is then an address */
    uint32_t object;             /* the module: index into profile->module; 0 for none */
};

struct pl_locations {
    struct pl_location *location;
    uint32_t count;
    uint32_t *of_frame; /* locations of frame i: of_place[of_frame[i]] .. of_place[of_frame[i+1]-1], innermost first */
    uint32_t *of_place;
    uint32_t *alike;      /* by location: the first location of the same name, in any file or module */
    bool full_names;      /* names are not shortened, and stacks are not folded */
    uint32_t overflow;    /* the location that stands for stacks that did not fit into the file */
    uint32_t other_sizes; /* and the one for allocations that were excluded by size */
    struct pl_arena *arena;
};

struct pl_location_options {
    bool full_names;
    bool no_symbols;
};

/* The name that a function has in every build. Lambdas lose their number and parameters: whether a name has them
 * depends on inlining, since debug information says less than a symbol. */
const char *pl_location_common_name(struct pl_arena *arena, const struct pl_place *place);

/* The text in place of a stack that did not fit into the file or cannot be read. */
const char *pl_locations_no_stack(const struct pl_profile *profile);

/* Stacks that did not fit into the file or cannot be read, and sizes without stacks, have no function to name. */
static inline bool pl_locations_stands_in(const struct pl_locations *locations, uint32_t location)
{
    return location == locations->overflow || location == locations->other_sizes;
}

struct pl_locations *pl_locations_new(const struct pl_profile *profile, const struct pl_location_options *options);
void pl_locations_free(struct pl_locations *locations);

#endif
