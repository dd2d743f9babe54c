/* SPDX-License-Identifier: MIT */
/*
 * find.h - finds the loaded module that contains an address. May be called inside a hook.
 *
 * The loader's _dl_find_object (glibc 2.35 and later) does the work: it is wait-free, async-signal-safe and always up
 * to date. A test defines a function of that name to invent modules. The preload may run where there is no such
 * function, so it does not use find.c, but defines pl_find_module() itself (preload/libc.c).
 */
#ifndef PL_FIND_H
#define PL_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link_map;

struct pl_found_module {
    uintptr_t start; /* this and the next: the module's mapping; usually the ELF header is at the start. If its */
    uintptr_t end;   /* segments lie apart (node), it may be one segment; `bias` and `map` are the same for all */
    uintptr_t bias;  /* address in memory = address in the ELF file + bias */
    const void *eh_frame_hdr; /* NULL: no unwind tables */
    struct link_map *map;
};

/* Fills *out and returns true if pc is in a loaded module. No lock, no allocation, async-signal-safe. */
bool pl_find_module(uintptr_t pc, struct pl_found_module *out);

/* Are both addresses in the same module? */
static inline bool pl_find_same_module(uintptr_t a, uintptr_t b)
{
    struct pl_found_module at_a, at_b;
    return a && b && pl_find_module(a, &at_a) && pl_find_module(b, &at_b) && at_a.start == at_b.start;
}

#endif
