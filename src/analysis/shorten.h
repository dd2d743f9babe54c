/* SPDX-License-Identifier: MIT */
/*
 * shorten.h - names as they fit into a line: `std::vector<Row>::push_back`, not its parameters as well.
 */
#ifndef PL_SHORTEN_H
#define PL_SHORTEN_H

#include "arena.h"

/* Without parameters, return type and clone suffixes; of long template arguments the first remains, or "…", and of a
 * long name its end. */
const char *pl_shorten_function(struct pl_arena *arena, const char *demangled);

/* The same for a name that has nothing around it to be left out: what looks like that is part of it. */
const char *pl_shorten_bare(struct pl_arena *arena, const char *name);

/* A path without the ways there and back: build/../src/x.c is src/x.c, as long as no link comes between. */
const char *pl_shorten_straight(struct pl_arena *arena, const char *file);

/* Relative to `directory` when it lies below it, else the last two or three parts of the path. */
const char *pl_shorten_file(struct pl_arena *arena, const char *file, const char *directory);

#endif
