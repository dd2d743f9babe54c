/* SPDX-License-Identifier: MIT */
/*
 * source.h - lines of source code, for `report --source`.
 */
#ifndef PL_CLI_SOURCE_H
#define PL_CLI_SOURCE_H

#include "profile.h"
#include "spot.h"
#include "term.h"

struct pl_source;

struct pl_source *pl_source_new(const struct pl_profile *profile);
void pl_source_free(struct pl_source *source);

/* The line of a spot with one before and one behind it, if its file is there; else nothing. A file that is younger than
 * the binary is shown, and called that. */
void pl_source_put(struct pl_source *source, struct pl_term *term, const struct pl_spot *spot, size_t indent);

#endif
