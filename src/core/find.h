/* SPDX-License-Identifier: MIT */
/*
 * find.h - which loaded module an address belongs to, asked from inside a hook.
 *
 * glibc 2.35 and later answer with _dl_find_object: wait-free, async-signal-safe, always up to date. Elsewhere (older
 * glibc, musl) nothing may be asked from a hook, so the front end takes a snapshot of the modules outside of the hooks
 * (pl_snapshot_refill in src/preload/snapshot.c), at start and after every dlopen and dlclose, and publishes it here.
 *
 * Invariant: a snapshot is complete and sorted by address before it is published, and a search that overlaps with a
 * publication is done again, so an answer always comes from one snapshot.
 */
#ifndef PL_FIND_H
#define PL_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link_map;

struct pl_found {
    uintptr_t
        start; /* of the module's mapping; the ELF header is usually here. Where segments lie apart (node), this */
    uintptr_t
        end; /* may be the one around the address only: `bias` and `map` are what all of a module's have in common */
    uintptr_t bias;           /* address in memory = address in the ELF file + bias */
    const void *eh_frame_hdr; /* NULL: no unwind tables */
    struct link_map *map;     /* NULL where the loader has none to show */
};

/* True, and *out filled, when pc lies in a loaded module. No lock, no allocation, async-signal-safe. */
bool pl_module_find(uintptr_t pc, struct pl_found *out);

/* Do both lie in one module? */
bool pl_module_same(uintptr_t a, uintptr_t b);

/* True where the loader has no _dl_find_object, so that snapshots must be published (or a test forces it). */
bool pl_module_find_needs_snapshot(void);

/* Modules a snapshot can hold; those beyond the bound are not found, and their frames are guessed. */
#define PL_SNAPSHOT_MODULES 1024

/*
 * Publishes `count` modules sorted by start. Not for hooks: publishers wait for each other. `generation` orders
 * snapshots that were taken by several threads: one that is older than what is published already is dropped.
 */
void pl_module_find_publish(const struct pl_found *modules, size_t count, uint64_t generation);

/* For tests: answer from the snapshot even where _dl_find_object is present. */
void pl_module_find_force_snapshot(bool force);

#endif
