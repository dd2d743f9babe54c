/* SPDX-License-Identifier: MIT */
/*
 * demangle.c - demangles names with libiberty.
 *
 * A prefix tells how a name is mangled. Names without one, which are nearly all of C, are returned unchanged.
 *
 * libiberty's own limit on recursion refuses every name of more than 1,024 characters, however flat, and templates make
 * such names. So the limit is off, and the length is limited instead: the demangler's stack grows with it, to 2 or 3 MB
 * for the longest name that is tried.
 */
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/arena.h"
#include "reader/symbols/symbolize.h"

#define NAME_BYTES_MAX (8u << 10)
#define OPTIONS (DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT)

static const struct mangling {
    const char *prefix;
    int style;
} mangling[] = {
    {"_Z", DMGL_AUTO}, /* C++ and legacy Rust */
    {"_R", DMGL_RUST},
    {"_D", DMGL_DLANG},
};

static const struct mangling *find_mangling(const char *name)
{
    for (size_t i = 0; i < sizeof mangling / sizeof *mangling; i++)
        if (strncmp(name, mangling[i].prefix, strlen(mangling[i].prefix)) == 0)
            return &mangling[i];
    return NULL;
}

const char *pl_demangle(struct pl_arena *arena, const char *name)
{
    const struct mangling *by = name[0] == '_' ? find_mangling(name) : NULL;
    if (!by || strnlen(name, NAME_BYTES_MAX) == NAME_BYTES_MAX)
        return name;
    char *readable = cplus_demangle(name, OPTIONS | by->style);
    if (!readable)
        return name;
    const char *kept = pl_arena_text(arena, readable, strlen(readable));
    free(readable);
    return kept;
}
