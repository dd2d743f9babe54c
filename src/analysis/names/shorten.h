/* SPDX-License-Identifier: MIT */
/*
 * shorten.h - shortens names so that they fit into a line: `std::vector<Row>::push_back`, without parameters.
 */
#ifndef PL_SHORTEN_H
#define PL_SHORTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/base/arena.h"

/* Drops parameters, return type and clone suffixes. Of long template arguments it keeps the first, or "…"; of a long
 * name it keeps the end. */
const char *pl_shorten_function(struct pl_arena *arena, const char *demangled);

/* The same for a name without parameters and return type: whatever looks like them is part of the name. */
const char *pl_shorten_bare(struct pl_arena *arena, const char *name);

/*
 * Shortens all names of a report, so that no two functions have the same: if they would, each of them is shown in a
 * longer form, with more template arguments or with parameters. Clones of a function count as the same function, and so
 * does a name without parameters, if there is only one function that it can be.
 */
struct pl_shortened {
    const char *full;
    bool bare;         /* without parameters and return type, as for pl_shorten_bare() */
    const char *brief; /* the shortest form, perhaps the same as another's */
    const char *shown; /* the form that differs from all others */
};
void pl_shorten_apart(struct pl_arena *arena, struct pl_shortened *name, uint32_t count);

/* Resolves `.` and `..` in a path: build/../src/x.c is src/x.c. Wrong if build is a symbolic link. */
const char *pl_shorten_straight(struct pl_arena *arena, const char *file);

/* Relative to `directory` if the file is below it, else the last two or three parts of the path. */
const char *pl_shorten_file(struct pl_arena *arena, const char *file, const char *directory);

#endif
