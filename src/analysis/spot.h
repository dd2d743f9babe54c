/* SPDX-License-Identifier: MIT */
/*
 * spot.h - the places of a profile as people see them, each once.
 *
 * Many addresses are the same place to a reader: the same function and line. A spot stands for all of them, with the
 * name and the file as they will be printed. Folding, sorting and printing then work with small numbers.
 */
#ifndef PL_SPOT_H
#define PL_SPOT_H

#include "arena.h"
#include "profile.h"
#include "role.h"

struct pl_spot {
    const char *name;
    const char *common; /* the same in other builds: where names are compared, and may be of several */
    const char *file;   /* "" if unknown */
    uint32_t line;
    const char *module; /* last part of its path; "" for none */
    enum pl_role role;
    const char *source, *binary; /* file and module as the profile has them, to be opened; "" if unknown */
    const char *full;            /* the function's complete name; "" if unknown: `name` is then an address */
    uint32_t object;             /* the module: index into profile->module; 0 for none */
};

struct pl_spots {
    struct pl_spot *spot;
    uint32_t count;
    uint32_t *of_frame; /* spots of frame i: of_place[of_frame[i]] .. of_place[of_frame[i+1]-1], innermost first */
    uint32_t *of_place;
    uint32_t *alike;      /* of spot i: the first one of the same name, wherever that is */
    bool full_names;      /* nothing is to be left out */
    uint32_t overflow;    /* the spot of what found no room in the file */
    uint32_t other_sizes; /* and of allocations whose stacks were not wanted */
    struct pl_arena *arena;
};

struct pl_spot_options {
    bool full_names;
    bool no_symbols;
};

/* What a function is called in any build: its name, and of a lambda only that it is one. Whether that has a number, and
 * what around it has parameters, depends on who was inlined: debug information tells less than a symbol. */
const char *pl_spot_common_name(struct pl_arena *arena, const struct pl_place *place);

/* What stands where a stack should be: there was no room for it, or it cannot be read. */
const char *pl_spots_no_stack(const struct pl_profile *profile);

struct pl_spots *pl_spots_new(const struct pl_profile *profile, const struct pl_spot_options *options);
void pl_spots_free(struct pl_spots *spots);

#endif
