/* SPDX-License-Identifier: MIT */
/*
 * shorten.h - names as people say them: `std::vector<Row>::push_back`, not four lines of template.
 */
#ifndef PL_SHORTEN_H
#define PL_SHORTEN_H

#include "arena.h"

/* Without parameters, return type, default template arguments, clone and hash suffixes; long arguments become "…". */
const char *pl_shorten_function(struct pl_arena *arena, const char *demangled);

/* Relative to `directory` when it lies below it, else the last two parts of the path. */
const char *pl_shorten_file(struct pl_arena *arena, const char *file, const char *directory);

#endif
