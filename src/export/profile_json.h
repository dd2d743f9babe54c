/* SPDX-License-Identifier: MIT */
/*
 * profile_json.h - the members of the JSON export, for whoever else writes some of them. docs/json.md is their schema.
 */
#ifndef PL_PROFILE_JSON_H
#define PL_PROFILE_JSON_H

#include "export.h"
#include "json.h"
#include "path.h"

#define PL_ADVICE_DEPTH 6 /* of stacks that are told apart, as in reports */

/* Members of an object that has been begun: all but those whose names are in the list. NULL ends it, or is no list. */
void pl_profile_json_members(struct pl_json *json, const struct pl_profile *profile,
                             const struct pl_export_options *options, const char *const *left_out);

/* Only those that are listed. */
void pl_profile_json_some(struct pl_json *json, const struct pl_profile *profile, const char *const *names);

/* Members of an element of "snapshots": all but its sites. */
void pl_profile_json_snapshot(struct pl_json *json, const struct pl_snapshot_view *snapshot);

/* The value of "advice". With `node_of_stack` each piece has a "node", too. `paths` are of shape PL_SHAPE_SITE. */
void pl_profile_json_advice(struct pl_json *json, const struct pl_profile *profile, struct pl_spots *spots,
                            const struct pl_paths *paths, const uint32_t *node_of_stack);

#endif
