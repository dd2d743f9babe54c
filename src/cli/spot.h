/* SPDX-License-Identifier: MIT */
/*
 * spot.h - the places of a profile as people see them, each once.
 *
 * Many addresses are the same place to a reader: the same function and line. A spot stands for all of them, with the
 * name and the file as they will be printed. Folding, sorting and printing then work with small numbers.
 */
#ifndef PL_SPOT_H
#define PL_SPOT_H

#include "profile.h"
#include "role.h"

struct pl_spot {
    const char *name;
    const char *file; /* "" if unknown */
    uint32_t line;
    const char *module; /* last part of its path; "" for none */
    enum pl_role role;
};

struct pl_spots {
    struct pl_spot *spot;
    uint32_t count;
    uint32_t *of_frame; /* spots of frame i: of_place[of_frame[i]] .. of_place[of_frame[i+1]-1], innermost first */
    uint32_t *of_place;
    uint32_t overflow;    /* the spot of what found no room in the file */
    uint32_t other_sizes; /* and of allocations whose stacks were not wanted */
    struct pl_arena *arena;
};

struct pl_spot_options {
    bool full_names;
    bool no_symbols;
};

struct pl_spots *pl_spots_new(const struct pl_profile *profile, const struct pl_spot_options *options);
void pl_spots_free(struct pl_spots *spots);

#endif
