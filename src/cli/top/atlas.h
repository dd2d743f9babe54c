/* SPDX-License-Identifier: MIT */
/*
 * atlas.h - names of stacks that stay valid from one reading of a running process to the next.
 *
 * A reading without names is cheap; names are looked up only if a reading has stacks that no earlier one had. What a
 * table has a row for is a subject: a site, a function, a tag or a thread. Its number never changes, so that rows of
 * two readings can be compared.
 */
#ifndef PL_ATLAS_H
#define PL_ATLAS_H

#include "analysis/role.h"
#include "reader/profile.h"

struct pl_atlas;

struct pl_subject_name {
    const char *name;
    const char *where; /* "index.c:212", or the module; "" if unknown */
    enum pl_role role;
};

/* A stack as reports show it, innermost first: from the caller of the allocator to main or a thread's function. */
struct pl_atlas_stack {
    uint32_t count;
    const uint32_t *site;     /* subjects: function and line */
    const uint32_t *function; /* subjects: function */
    uint32_t own;             /* the element that the site is named after */
};

#define PL_ATLAS_NONE UINT32_MAX

struct pl_atlas *pl_atlas_new(void);
void pl_atlas_free(struct pl_atlas *atlas);

/* The number of each stack of a profile; PL_ATLAS_NONE for those that it does not know yet. False: there are such. */
bool pl_atlas_find(const struct pl_atlas *atlas, const struct pl_profile *profile, uint32_t *number);

/* Adds the stacks of a profile with names. */
void pl_atlas_learn(struct pl_atlas *atlas, const struct pl_profile *profile);

const struct pl_atlas_stack *pl_atlas_stack(const struct pl_atlas *atlas, uint32_t number);

/* The subject with this name, which is made if it is new. `kind` tells tags from threads of the same name. */
uint32_t pl_atlas_subject(struct pl_atlas *atlas, char kind, const char *name);
const struct pl_subject_name *pl_atlas_name(const struct pl_atlas *atlas, uint32_t subject);
uint32_t pl_atlas_subjects(const struct pl_atlas *atlas);

#endif
