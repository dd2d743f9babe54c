/* SPDX-License-Identifier: MIT */
/*
 * profile_json.h - the members of the JSON export, for other formats that have some of them. docs/json.md is their
 * schema.
 */
#ifndef PL_PROFILE_JSON_H
#define PL_PROFILE_JSON_H

#include "analysis/path.h"
#include "export/export.h"
#include "export/json.h"

#define PL_ADVICE_DEPTH 6 /* frames by which stacks are told apart, as in reports */

/* Writes members of an object that has been begun: all but those in `left_out`, which ends with NULL, or is NULL.
 * `selection` says which part of a profile this is; NULL: all of it. */
void pl_profile_json_members(struct pl_json *json, const struct pl_profile *profile, const char *selection,
                             const char *const *left_out);

/* Writes only those in `names`. */
void pl_profile_json_some(struct pl_json *json, const struct pl_profile *profile, const char *const *names);

/* Writes members of an element of "snapshots": all but its sites. */
void pl_profile_json_composition(struct pl_json *json, const struct pl_composition_view *composition);

/* Writes an element of "holders". `place` is that of its stack, called `key`. */
void pl_profile_json_holder(struct pl_json *json, const struct pl_holder_view *holder, const char *key, uint32_t place);

/* Writes members of an element of "residency": all but its sites. */
void pl_profile_json_resident(struct pl_json *json, const struct pl_resident_record *reading);

/* Writes the value of "advice". With `node_of_stack` each piece has a "node", too. `paths` are of shape
 * PL_SHAPE_SITE. */
void pl_profile_json_advice(struct pl_json *json, const struct pl_profile *profile, struct pl_locations *locations,
                            const struct pl_paths *paths, const uint32_t *node_of_stack);

#endif
